// A heap without a protocol: a test's handler opens the pages that fault.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dsm/memory/heap.h"
#include "platform/mutex.h"

namespace iw::dsm {

using Faults = std::vector<std::pair<PageNumber, Access>>;

inline constexpr std::size_t test_heap_bytes = std::size_t{4} << 30;

// nullptr, and why in *why: the way cannot be had here.
inline std::unique_ptr<Heap> map_heap(FaultWay way, std::size_t page_bytes,
                                      std::string* why = nullptr) {
  std::string error;
  if (why == nullptr) why = &error;
  for (const std::uintptr_t at : Heap::addresses()) {
    bool is_taken = false;
    auto heap = Heap::map({test_heap_bytes, page_bytes, way}, reinterpret_cast<std::byte*>(at),
                          &is_taken, why);
    if (heap != nullptr || !is_taken) return heap;
  }
  return nullptr;
}

// Opens each page as it is asked for. `fill` gives a closed page its bytes first.
class Opener final : public FaultHandler {
 public:
  explicit Opener(Heap& heap) : heap_(heap) { heap.watch(this); }
  ~Opener() override { heap_.watch(nullptr); }

  bool on_fault(PageNumber page, Access wanted) override {
    const platform::MutexLock lock(mutex);
    if (access_[page] >= wanted) return true;  // another thread was first
    faults_.push_back({page, wanted});
    if (before) before(page, wanted);
    if (is_refusing) return false;
    if (wanted == Access::write && makes_twins && !heap_.make_twin(page)) return false;
    allow(page, 1, wanted);
    return true;
  }

  // With the mutex held, or no other thread.
  void allow(PageNumber first, std::size_t count, Access access) {
    for (PageNumber page = first; page < first + count; page++) access_[page] = access;
    heap_.allow(first, count, access);
  }

  void allow_all(const std::vector<PageNumber>& pages, Access access) {
    for (const PageNumber page : pages) access_[page] = access;
    heap_.allow_all(pages, access);
  }

  // The faults since the last call. For the compiler a load or store does not call anybody.
  Faults faults() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return std::exchange(faults_, {});
  }

  platform::Mutex mutex;  // the rank's
  std::function<void(PageNumber, Access)> before;
  std::atomic<bool> is_refusing{false};
  bool makes_twins = false;

 private:
  Heap& heap_;
  Faults faults_;
  std::unordered_map<PageNumber, Access> access_;
};

// The tests of both ways, with pages of all sizes.
class HeapTest : public testing::TestWithParam<std::tuple<FaultWay, std::size_t>> {
 protected:
  void SetUp() override {
    heap_ = map_heap(way(), page_bytes());
    if (heap_ == nullptr) GTEST_SKIP() << "this kernel refuses userfaultfd for shared memory";
  }

  static FaultWay way() { return std::get<0>(GetParam()); }
  static std::size_t page_bytes() { return std::get<1>(GetParam()); }
  static std::vector<std::byte> page_of(int value) {
    return std::vector<std::byte>(page_bytes(), static_cast<std::byte>(value));
  }
  // The first byte of a page.
  volatile unsigned char* page(PageNumber number) const {
    return reinterpret_cast<volatile unsigned char*>(heap_->begin() + number * page_bytes());
  }

  std::unique_ptr<Heap> heap_;
};

inline std::string name_of(const testing::TestParamInfo<std::tuple<FaultWay, std::size_t>>& each) {
  const bool is_userfaultfd = std::get<0>(each.param) == FaultWay::userfaultfd;
  return (is_userfaultfd ? "userfaultfd_" : "sigsegv_") +
         std::to_string(std::get<1>(each.param) >> 10) + "k";
}

inline auto all_ways_and_sizes() {
  return testing::Combine(
      testing::Values(FaultWay::sigsegv, FaultWay::userfaultfd),
      testing::Values(std::size_t{4096}, std::size_t{8192}, std::size_t{65536}));
}

}  // namespace iw::dsm
