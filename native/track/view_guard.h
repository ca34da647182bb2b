// Page protection of one view. It traps stores (the sigsegv mechanism), and between locks it traps
// accesses that no lock allows (IW_LOG=locks, any mechanism).
//
// Rules that keep it sound while application threads fault at any moment:
//  - a handled fault always leaves its page more accessible, whatever another thread has changed
//    meanwhile, so that the access that faulted can continue;
//  - a page is opened first and noted as stored second; taking the notes removes them first and
//    protects second: so an open page is always noted, or is about to be by a running handler.
#pragma once

#include <atomic>
#include <cstddef>

#include "platform/fault.h"
#include "track/page_set.h"
#include "track/tracker.h"

namespace iw::track {

enum class Stores {
  free,     // the mechanism finds them otherwise
  trapped,  // each page's first store faults and is noted
  refused   // read-only: reported, and then fatal
};

class ViewGuard {
 public:
  ViewGuard(std::byte* view, std::size_t size_bytes, Stores stores);
  ViewGuard(const ViewGuard&) = delete;
  ViewGuard& operator=(const ViewGuard&) = delete;

  // Begins to handle faults; `trapped` needs it from the beginning, set_access does it by itself.
  Status start();

  Status set_access(Access access);
  [[nodiscard]] Access access() const { return access_.load(std::memory_order_relaxed); }

  // trapped: whether a store is under the writer lock, or a stray one to report.
  void allow_stores(bool allowed) { stores_allowed_.store(allowed); }

  // trapped: opens these pages at once and notes them.
  Status open_for_stores(const PageSet& pages);

  // Copies the bytes of the pages [first, end) from `from`, a copy of the whole view. The pages
  // remain as accessible as they were. A store of the application meanwhile faults, is overwritten,
  // or makes the page a noted one.
  Status overwrite(std::size_t first, std::size_t end, const std::byte* from);

  // trapped: moves the noted pages that are in `among` to `out` and protects them again.
  Status take_stored(const PageSet& among, PageSet& out);

 private:
  void report_stray(std::byte* address, Access kind) const noexcept;
  static bool on_fault(void* context, std::byte* address, platform::FaultAccess kind) noexcept;
  bool on_load(std::byte* address, std::size_t page) noexcept;
  bool on_store(std::byte* address, std::size_t page) noexcept;
  bool open_for_store(std::size_t page) noexcept;
  [[nodiscard]] platform::Protection resting_protection() const noexcept;

  std::byte* const view_;
  const std::size_t size_bytes_;
  const std::size_t page_bytes_;
  const Stores stores_;
  const unsigned made_in_fork_;
  std::atomic<Access> access_;
  std::atomic<bool> stores_allowed_{false};
  bool is_started_ = false;
  AtomicPageSet opened_;  // opened by a stray access since the last set_access
  AtomicPageSet stored_;
  platform::FaultWatch watch_;  // last: it ends before the rest goes
};

}  // namespace iw::track
