// Diffs that their writer keeps [DSM-PULL-1] [DSM-PULL-2]: until their home asks for them, or for
// readers. Its memory is not malloc's (fault_memory.h), because a fault may send diffs. Values; no
// I/O.
//
// Invariant: of a page, the diffs are in the order of their sequences, and those that were sent
// come first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "dsm/protocol/fault_memory.h"
#include "dsm/protocol/time.h"

namespace iw::dsm {

struct KeptDiff {
  Sequence sequence = 0;
  FaultVector<std::byte> runs;
  bool is_sent = false;  // to the home
};

// The diffs of a page that a reader lacks: so many, from one sequence to another. 0: none.
struct DiffRange {
  Sequence first = 0;
  Sequence last = 0;
  std::uint32_t count = 0;

  // Of diffs that are not one range, and stay so with others.
  static constexpr DiffRange none() { return {0, 0, UINT32_MAX}; }
  bool is_range() const { return count > 0 && count < none().count; }
  void add(Sequence next) {
    if (count == none().count) return;
    if (count++ == 0) first = next;
    last = next;
  }
};

class DiffStore {
 public:
  // Behind all others of the page.
  void keep(PageNumber page, KeptDiff diff);
  // All of the range, or nothing if one is not here.
  std::vector<const KeptDiff*> find(PageNumber page, const DiffRange& range) const;
  // Calls for each diff of the page that was not sent, the oldest first.
  template <typename Send>
  void send_unsent(PageNumber page, Send send) {
    const auto found = pages_.find(page);
    if (found == pages_.end()) return;
    for (KeptDiff& each : found->second) {
      if (!std::exchange(each.is_sent, true)) send(std::as_const(each));
    }
  }
  // Of the page, those that were sent.
  void drop_sent(PageNumber page);
  // The page of the oldest diff, whatever its page. REQUIRES: there is one.
  PageNumber oldest_page() const { return order_.front().first; }
  // The page's oldest diff.
  void drop_first(PageNumber page);

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t bytes_most() const { return bytes_most_; }

 private:
  // What a page takes besides its diffs: the first piece of its queue, and its place in the table.
  static constexpr std::size_t page_overhead_bytes = 704;
  static std::size_t bytes_of(const KeptDiff& diff) { return sizeof diff + diff.runs.capacity(); }
  bool is_here(const std::pair<PageNumber, Sequence>& place) const;
  void tidy_order();

  FaultMap<PageNumber, FaultDeque<KeptDiff>> pages_;  // none is empty
  // In the order in which they came; of some the diff is gone.
  FaultDeque<std::pair<PageNumber, Sequence>> order_;
  std::size_t count_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t bytes_most_ = 0;
};

}  // namespace iw::dsm
