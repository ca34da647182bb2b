#include "dsm/protocol/interval_log.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace iw::dsm {

bool IntervalLog::add(Interval interval) {
  const auto [writer, sequence] = interval.stamp;
  if (sequence <= known_[writer]) return false;
  if (sequence != known_[writer] + 1) throw std::logic_error("an interval was left out");
  known_[writer] = sequence;
  bytes_ += bytes_of(interval);
  held_[writer].push_back(std::move(interval));
  return true;
}

bool IntervalLog::can_add(std::span<const Interval> intervals) const {
  VectorTime known = known_;
  return std::ranges::all_of(intervals, [&](const Interval& each) {
    Sequence& last = known[each.stamp.writer];
    if (each.stamp.sequence > last + 1) return false;
    last = std::max(last, each.stamp.sequence);
    return true;
  });
}

std::vector<Interval> IntervalLog::after(const VectorTime& since) const {
  std::vector<Interval> found;
  for (Rank writer = 0; writer < known_.size(); writer++) {
    append_after({writer, since[writer]}, &found);
  }
  return found;
}

bool IntervalLog::has_all_after(const VectorTime& since) const {
  return std::ranges::equal(since, forgotten_, std::ranges::greater_equal());
}

void IntervalLog::append_after(Stamp since, std::vector<Interval>* found) const {
  const std::deque<Interval>& all = held_[since.writer];
  const auto is_known = [&](const Interval& each) { return each.stamp.sequence <= since.sequence; };
  found->insert(found->end(), std::ranges::partition_point(all, is_known), all.end());
}

void IntervalLog::forget_up_to(const VectorTime& time) {
  for (Rank writer = 0; writer < known_.size(); writer++) {
    forgotten_[writer] = std::max(forgotten_[writer], time[writer]);
    std::deque<Interval>& all = held_[writer];
    while (!all.empty() && all.front().stamp.sequence <= time[writer]) {
      bytes_ -= bytes_of(all.front());
      all.pop_front();
    }
  }
}

std::size_t IntervalLog::size() const {
  std::size_t sum = 0;
  for (const auto& each : held_) sum += each.size();
  return sum;
}

}  // namespace iw::dsm
