// A fault takes no memory from malloc or operator new, because the instruction that faults may be
// one of the allocator itself. The program counts what its threads ask for.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "dsm/node/node_fixture.h"

extern "C" void* __libc_malloc(std::size_t bytes);
extern "C" void __libc_free(void* memory);

namespace {

thread_local constinit bool is_counting = false;
thread_local constinit std::uint64_t mallocs = 0, news = 0;

}  // namespace

extern "C" void* malloc(std::size_t bytes) {
  if (is_counting) mallocs++;
  return __libc_malloc(bytes);
}

void* operator new(std::size_t bytes) {
  if (is_counting) news++;
  void* const memory = __libc_malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// Not std::free, of which the compiler believes that it frees nothing of operator new.
void operator delete(void* memory) noexcept { __libc_free(memory); }
void operator delete(void* memory, std::size_t) noexcept { __libc_free(memory); }

namespace iw::dsm {
namespace {

constexpr PageNumber many_pages = 700;

class Counting {
 public:
  Counting() {
    mallocs = news = 0;
    is_counting = true;
  }
  ~Counting() { is_counting = false; }
};

}  // namespace

ROLE(faults_take_no_memory) {
  Member at;
  at.words[0] = 1;
  const Placement homes[] = {{0, many_pages / 2, 0}};
  at.begin(many_pages, homes);
  const bool is_direct = number_of_environment("DIRECT", 1) != 0;
  for (std::uint64_t round = 1; round <= 5; round++) {
    {
      const Counting counting;
      for (PageNumber page = 0; page < many_pages; page++) {
        (void)at.words[page * at.page_words];
        at.words[page * at.page_words + at.me()] = round;
      }
    }
    check(news == 0, "a fault takes no memory by new", news);
    // The transport takes some for messages.
    if (is_direct) check(mallocs == 0, "nor by malloc", mallocs);
    at.barrier();
  }
  check(at.node->stats().misses >= many_pages / 2, "there were faults", at.node->stats().misses);
  return at.finish();
}

TEST(FaultMemory, ComesFromNoAllocator) { TestJob("faults_take_no_memory", 2).expect_success(); }

TEST(FaultMemory, ComesFromNoAllocatorWherePagesAreMessages) {
  TestJob("faults_take_no_memory", 2, {{"IW_DSM_DIRECT", "no"}, {"DIRECT", "0"}}).expect_success();
}

// The test can see what it looks for.
TEST(FaultMemory, IsCounted) {
  const Counting counting;
  std::free(std::malloc(100));
  const std::vector<int> some(100);
  EXPECT_EQ(some.size(), 100u);
  EXPECT_GE(mallocs, 1u);
  EXPECT_GE(news, 1u);
}

}  // namespace iw::dsm
