#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "abi/tests/scarce_memory.h"

// The linker leads the library's calls here (--wrap), and not those of the C library.
extern "C" {
void* __real_malloc(std::size_t bytes);
void* __real_calloc(std::size_t count, std::size_t bytes);
void* __real_realloc(void* memory, std::size_t bytes);
}

namespace iw::test {
namespace {

struct Plan {
  std::atomic<bool> is_on{false};
  std::atomic<Whose> whose{Whose::callers};
  std::atomic<Failing> failing{Failing::once};
  std::atomic<long> left{0};
  std::atomic<bool> has_failed{false};
};
constinit Plan plan;
constinit thread_local bool is_callers = false;

bool fails() noexcept {
  if (!plan.is_on.load() || (plan.whose.load() == Whose::callers) != is_callers) return false;
  const long left = plan.left.fetch_sub(1) - 1;
  const Failing failing = plan.failing.load();
  const bool is_failing = left == 0 || (left < 0 && failing == Failing::from_then_on) ||
                          (left < 0 && failing == Failing::now_and_then && left % 7 == 0);
  if (is_failing) plan.has_failed.store(true);
  return is_failing;
}

void* allocated(std::size_t bytes) noexcept {
  return fails() ? nullptr : __real_malloc(bytes == 0 ? 1 : bytes);
}

void* allocated(std::size_t bytes, std::align_val_t align) noexcept {
  if (fails()) return nullptr;
  void* out = nullptr;
  return posix_memalign(&out, static_cast<std::size_t>(align), bytes) == 0 ? out : nullptr;
}

template <typename... Sizes>
void* allocated_or_thrown(Sizes... sizes) {
  void* const out = allocated(sizes...);
  if (out == nullptr) throw std::bad_alloc();
  return out;
}

}  // namespace

Scarcity::Scarcity(Whose whose, Failing failing, long n) {
  is_callers = true;
  plan.whose = whose;
  plan.failing = failing;
  plan.left = n;
  plan.has_failed = false;
  plan.is_on = true;
}

long Scarcity::left() { return plan.left; }

bool Scarcity::stop() {
  plan.is_on = false;
  return plan.has_failed;
}

NarrowAddressSpace::NarrowAddressSpace(std::size_t more_bytes) {
  rlimit limit{};
  (void)getrlimit(RLIMIT_AS, &limit);
  before_ = limit.rlim_cur;
  unsigned long pages = 0;
  std::FILE* const sizes = std::fopen("/proc/self/statm", "r");
  if (sizes == nullptr || std::fscanf(sizes, "%lu", &pages) != 1) std::abort();
  (void)std::fclose(sizes);
  limit.rlim_cur = pages * static_cast<unsigned long>(sysconf(_SC_PAGESIZE)) + more_bytes;
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::abort();
}

NarrowAddressSpace::~NarrowAddressSpace() {
  rlimit limit{};
  (void)getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = before_;
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::abort();
}

}  // namespace iw::test

using iw::test::allocated;
using iw::test::allocated_or_thrown;
using iw::test::fails;

extern "C" {
void* __wrap_malloc(std::size_t bytes) { return fails() ? nullptr : __real_malloc(bytes); }
void* __wrap_calloc(std::size_t count, std::size_t bytes) {
  return fails() ? nullptr : __real_calloc(count, bytes);
}
void* __wrap_realloc(void* memory, std::size_t bytes) {
  return fails() ? nullptr : __real_realloc(memory, bytes);
}
}

void* operator new(std::size_t bytes) { return allocated_or_thrown(bytes); }
void* operator new[](std::size_t bytes) { return allocated_or_thrown(bytes); }
void* operator new(std::size_t bytes, std::align_val_t align) {
  return allocated_or_thrown(bytes, align);
}
void* operator new[](std::size_t bytes, std::align_val_t align) {
  return allocated_or_thrown(bytes, align);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocated(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocated(bytes); }
void* operator new(std::size_t bytes, std::align_val_t align, const std::nothrow_t&) noexcept {
  return allocated(bytes, align);
}
void* operator new[](std::size_t bytes, std::align_val_t align, const std::nothrow_t&) noexcept {
  return allocated(bytes, align);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
