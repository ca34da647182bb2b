#include "dsm/memory/heap.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "dsm/memory/heap_mapping.h"
#include "dsm/memory/interpose.h"
#include "dsm/memory/twin_slab.h"
#include "dsm/memory/view_protection.h"
#include "dsm/protocol/fault_memory.h"
#include "dsm/protocol/page_diff.h"
#include "platform/mutex.h"

namespace iw::dsm {
namespace {

// On the thread whose access goes to the view's protection. A signal handler of the program that
// interrupts it there, and accesses the heap, does not find it locked by its own thread.
__attribute__((tls_model("initial-exec"))) thread_local constinit bool is_protecting = false;

// Pages between two that are protected together cost less than another system call.
constexpr PageNumber gap_most = 32;

}  // namespace

class Heap::Parts final : public FaultRange {
 public:
  Parts(const HeapOptions& options, HeapMapping mapping, std::unique_ptr<ViewProtection> protection)
      : page_bytes(options.page_bytes),
        page_shift(std::countr_zero(options.page_bytes)),
        mapping(std::move(mapping)),
        slab(options.page_bytes),
        protection_(std::move(protection)) {}
  ~Parts() override { watch.stop(); }

  std::byte* view() const { return mapping.view().begin; }
  std::byte* alias(PageNumber page) const { return mapping.alias() + (page << page_shift); }
  std::span<std::byte> bytes_of(PageNumber page) const { return {alias(page), page_bytes}; }
  PageNumber page_of(const void* address) const {
    return static_cast<PageNumber>(static_cast<const std::byte*>(address) - view()) >> page_shift;
  }

  FaultWay way() const { return protection_->way(); }
  int signal_number() const { return protection_->signal_number(); }
  void close_all();
  void allow(PageNumber first, std::size_t count, Access access);
  void allow_all(std::span<const PageNumber> pages, Access access);
  // Nobody is told of faults from then on but this one.
  void tell(FaultHandler* handler);

  // FaultRange
  bool on_fault(std::byte* address, Wanted wanted) override;

  const std::size_t page_bytes;
  const int page_shift;
  HeapMapping mapping;
  TwinSlab slab;
  FaultWatch watch;

 private:
  class Protecting;
  // Pages whose access changes together.
  struct Run {
    PageNumber first;
    PageNumber end;
    Access from;
  };
  bool joins(const Run& run, PageNumber page, Access access) const IW_REQUIRES(mutex_);
  [[noreturn]] void fail(const char* what) const;

  // A leaf: held while the system's tables change and while a fault looks whether they have.
  platform::Mutex mutex_;
  const std::unique_ptr<ViewProtection> protection_;
  FaultVector<Stretch> stretches_ IW_GUARDED_BY(mutex_);
  std::atomic<FaultHandler*> handler_{nullptr};
  std::atomic<unsigned> running_{0};
};

class IW_SCOPED_CAPABILITY Heap::Parts::Protecting {
 public:
  explicit Protecting(platform::Mutex& mutex) IW_ACQUIRE(mutex) : mutex_(mutex) {
    is_protecting = true;
    mutex_.lock();
  }
  ~Protecting() IW_RELEASE() {
    mutex_.unlock();
    is_protecting = false;
  }

 private:
  platform::Mutex& mutex_;
};

void Heap::Parts::fail(const char* what) const {
  std::fprintf(stderr, "interweave: %s: %s. Give the job more memory, or use less of the heap.\n",
               what, std::strerror(errno));
  std::fflush(stderr);
  _exit(3);
}

void Heap::Parts::close_all() {
  const Protecting lock(mutex_);
  if (!protection_->close_all()) fail("the pages of the heap cannot be closed");
}

// Stretches of pages that had the same access change together.
void Heap::Parts::allow(PageNumber first, std::size_t count, Access access) {
  const Protecting lock(mutex_);
  Access* const now = mapping.access() + first;
  for (std::size_t begin = 0; begin < count;) {
    const Access from = now[begin];
    std::size_t end = begin + 1;
    while (end < count && now[end] == from) end++;
    if (from != access && !protection_->change((first + begin) << page_shift,
                                               (end - begin) << page_shift, from, access)) {
      fail("the access to a page of the heap cannot be changed");
    }
    std::fill(now + begin, now + end, access);
    begin = end;
  }
}

// Pages between two that are to be protected need not be spared if no thread may store to them.
bool Heap::Parts::joins(const Run& run, PageNumber page, Access access) const {
  const Access* const now = mapping.access();
  if (now[page] != run.from) return false;
  if (page == run.end) return true;
  const bool may_span = access == Access::read && run.from == Access::write &&
                        protection_->spares_closed_pages() && page - run.end <= gap_most;
  return may_span &&
         std::all_of(now + run.end, now + page, [](Access each) { return each != Access::write; });
}

void Heap::Parts::allow_all(std::span<const PageNumber> pages, Access access) {
  const Protecting lock(mutex_);
  Access* const now = mapping.access();
  stretches_.clear();
  for (std::size_t begin = 0; begin < pages.size();) {
    Run run{pages[begin], pages[begin] + 1, now[pages[begin]]};
    while (++begin < pages.size() && joins(run, pages[begin], access)) run.end = pages[begin] + 1;
    if (run.from == access) continue;
    stretches_.push_back({run.first << page_shift, (run.end - run.first) << page_shift, run.from});
  }
  if (!protection_->change_all(stretches_, access)) {
    fail("the access to pages of the heap cannot be changed");
  }
  for (const PageNumber page : pages) now[page] = access;
}

void Heap::Parts::tell(FaultHandler* handler) {
  handler_ = handler;
  while (running_ != 0) sched_yield();
}

// The page may be open: another thread opened it meanwhile, or the system closed it on its own
// account. Else the handler is told.
bool Heap::Parts::on_fault(std::byte* address, Wanted wanted_by_processor) {
  const PageNumber page = page_of(address);
  Access wanted = wanted_by_processor == Wanted::write ? Access::write : Access::read;
  if (!is_protecting) {
    const Protecting lock(mutex_);
    const Access access = mapping.access()[page];
    // A load that is tried again stops to fault; if this is a store, it is one at its next fault.
    const bool is_store = wanted_by_processor == Wanted::unknown && access != Access::none;
    if (is_store) wanted = Access::write;
    if (access >= wanted) {
      if (!protection_->open_again(page << page_shift, page_bytes, access)) {
        fail("a page of the heap cannot be opened");
      }
      return true;
    }
  }
  running_++;
  FaultHandler* const handler = handler_;
  const bool is_done = handler != nullptr && handler->on_fault(page, wanted);
  running_--;
  return is_done;
}

std::span<const std::uintptr_t> Heap::addresses() {
  static constexpr std::array<std::uintptr_t, 6> all{
      0x2000'0000'0000, 0x3000'0000'0000, 0x4000'0000'0000, 0x6000'0000'0000,
      0x5500'0000'0000,  // the thread sanitizer has all others
      0x20'0000'0000,    // for a processor with 39 bits of address
  };
  return all;
}

Heap::Heap(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Heap::~Heap() = default;

std::unique_ptr<Heap> Heap::map(const HeapOptions& options, std::byte* at, bool* is_taken,
                                std::string* error) {
  *is_taken = false;
  interpose_system_calls();
  auto mapping = HeapMapping::make(options, at, is_taken, error);
  if (!mapping) return nullptr;
  auto protection = ViewProtection::make(options.way, mapping->view(), error);
  if (protection == nullptr) return nullptr;
  auto parts = std::make_unique<Parts>(options, std::move(*mapping), std::move(protection));
  const View& view = parts->mapping.view();
  if (!parts->watch.start(view.begin, view.bytes, parts->signal_number(), parts.get(), error)) {
    return nullptr;
  }
  return std::unique_ptr<Heap>(new Heap(std::move(parts)));
}

std::byte* Heap::begin() const { return parts_->view(); }
int Heap::file() const { return parts_->mapping.view().file; }
std::size_t Heap::bytes() const { return parts_->mapping.view().bytes; }
std::size_t Heap::page_bytes() const { return parts_->page_bytes; }
FaultWay Heap::way() const { return parts_->way(); }
PageNumber Heap::page_of(const void* address) const { return parts_->page_of(address); }
bool Heap::has(const void* address) const {
  return static_cast<std::size_t>(static_cast<const std::byte*>(address) - begin()) < bytes();
}
std::size_t Heap::twins() const { return parts_->slab.twins(); }
std::size_t Heap::twin_bytes() const { return parts_->slab.bytes(); }
void Heap::watch(FaultHandler* handler) { parts_->tell(handler); }

std::vector<PageNumber> Heap::end_replay(bool keeps_bytes) {
  std::vector<PageNumber> pages;
  parts_->close_all();
  if (keeps_bytes) {
    pages = parts_->mapping.pages_with_bytes();
  } else {
    parts_->mapping.give_back(0, bytes());
  }
  return pages;
}

void Heap::give_back(PageNumber first, std::size_t count) {
  parts_->mapping.give_back(first << parts_->page_shift, count << parts_->page_shift);
}

void Heap::allow_all(std::span<const PageNumber> pages, Access access) {
  parts_->allow_all(pages, access);
}

void Heap::allow(PageNumber first, std::size_t count, Access access) {
  parts_->allow(first, count, access);
}

bool Heap::make_twin(PageNumber page) {
  std::byte* const twin = parts_->slab.take();
  if (twin == nullptr) return false;
  std::memcpy(twin, parts_->alias(page), parts_->page_bytes);
  parts_->mapping.twins()[page] = twin;
  return true;
}

std::span<const std::byte> Heap::take_diff(PageNumber page) {
  std::byte*& twin = parts_->mapping.twins()[page];
  const std::span<std::byte> room = parts_->mapping.room();
  const std::size_t bytes = write_runs({twin, parts_->page_bytes}, parts_->bytes_of(page), room);
  parts_->slab.give_back(twin);
  twin = nullptr;
  return room.first(bytes);
}

bool Heap::apply(PageNumber page, std::span<const std::byte> runs) {
  return apply_runs(runs, parts_->bytes_of(page));
}

std::span<const std::byte> Heap::read(PageNumber page) { return parts_->bytes_of(page); }

void Heap::fill(PageNumber page, std::span<const std::byte> bytes) {
  if (bytes.empty()) {
    std::memset(parts_->alias(page), 0, parts_->page_bytes);
  } else {
    std::memcpy(parts_->alias(page), bytes.data(), std::min(bytes.size(), parts_->page_bytes));
  }
}

}  // namespace iw::dsm
