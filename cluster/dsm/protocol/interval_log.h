// The intervals that this rank knows of: its own, and those of which it was told [DSM-TIME-1]. It
// tells them to whoever synchronises with it.
//
// Invariant: of each writer the log knows all intervals up to `known()`, without a gap. It holds
// those that somebody may still have to be told of.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "dsm/protocol/time.h"

namespace iw::dsm {

// An interval and the pages that were written in it: its write notices.
struct Interval {
  Stamp stamp;
  std::vector<PageNumber> pages;
};

class IntervalLog {
 public:
  explicit IntervalLog(Rank ranks) : known_(ranks, 0), forgotten_(ranks, 0), held_(ranks) {}

  const VectorTime& known() const { return known_; }

  // False: the interval was known already. REQUIRES: the interval before is known.
  bool add(Interval interval);
  // Each of them, in this order, is known, or the one before it is.
  bool can_add(std::span<const Interval> intervals) const;
  // All intervals that a rank with that time lacks, those of a writer in their order.
  std::vector<Interval> after(const VectorTime& since) const;
  // False: a rank with that time lacks an interval that is forgotten here. A barrier brings it.
  bool has_all_after(const VectorTime& since) const;
  // All that the log holds.
  std::vector<Interval> all() const { return after(VectorTime(known_.size(), 0)); }
  // Everybody knows of the intervals up to that time.
  void forget_up_to(const VectorTime& time);
  std::size_t size() const;
  // Of memory that the held intervals take.
  std::size_t bytes() const { return bytes_; }

 private:
  static std::size_t bytes_of(const Interval& interval) {
    return sizeof interval + interval.pages.size() * sizeof(PageNumber);
  }
  void append_after(Stamp since, std::vector<Interval>* found) const;

  VectorTime known_;
  VectorTime forgotten_;
  std::vector<std::deque<Interval>> held_;  // by writer, the oldest first
  std::size_t bytes_ = 0;
};

}  // namespace iw::dsm
