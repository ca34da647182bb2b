// Ranks, the numbers of intervals, and the times that are made of them: vector clocks (PIPE,
// section 2.1). Values; no I/O.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "dsm/protocol/fault_memory.h"

namespace iw::dsm {

using Rank = std::uint16_t;
// A page of the heap, counted from its beginning.
using PageNumber = std::uint64_t;
// The number of an interval among those of its writer, from 1 on. It never wraps.
using Sequence = std::uint64_t;

// An interval: a stretch of one rank's stores between two synchronisations.
struct Stamp {
  Rank writer = 0;
  Sequence sequence = 0;
  friend bool operator==(const Stamp&, const Stamp&) = default;
};

// For each rank the newest interval that is known of. All older ones are known, too.
using VectorTime = std::vector<Sequence>;

// The same of one page, with the few ranks that wrote to it. Ranks that are not named stand at 0.
class SparseTime {
 public:
  Sequence of(Rank writer) const {
    const auto found = find(writer);
    return found == stamps_.end() ? 0 : found->sequence;
  }

  void raise(Stamp to) {
    const auto found = find(to.writer);
    if (found == stamps_.end()) {
      stamps_.push_back(to);
    } else {
      const auto place = stamps_.begin() + (found - stamps_.cbegin());
      place->sequence = std::max(place->sequence, to.sequence);
    }
  }

  bool covers(std::span<const Stamp> wanted) const {
    return std::ranges::all_of(wanted,
                               [&](Stamp each) { return of(each.writer) >= each.sequence; });
  }

  void drop_covered_by(const SparseTime& other) {
    std::erase_if(stamps_, [&](Stamp each) { return other.of(each.writer) >= each.sequence; });
  }

  void drop(Rank writer) {
    std::erase_if(stamps_, [&](Stamp each) { return each.writer == writer; });
  }

  bool empty() const { return stamps_.empty(); }
  std::span<const Stamp> stamps() const { return stamps_; }

 private:
  FaultVector<Stamp>::const_iterator find(Rank writer) const {
    return std::ranges::find(stamps_, writer, &Stamp::writer);
  }

  FaultVector<Stamp> stamps_;
};

}  // namespace iw::dsm
