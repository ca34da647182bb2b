// The collection of logs in programs that pass no barriers [DSM-LOG-1].
//
// A rank that knows of an interval never needs to be told of it. So the intervals up to the least
// of all ranks' times can go. A request that is older than its sender's answer may still name an
// older time. Its sender then lacks nothing that was forgotten.
//
// A rank that acquires nothing would keep the least time where it is. So a round also brings to
// each rank what all others know. To take notice of more than a lock or a barrier brings is allowed
// at any time: it only makes pages stale that are newer at their homes.
#include <algorithm>

#include "dsm/node/node.h"

namespace iw::dsm {

void Node::collect_if_grown() {
  const bool is_wanted_by_locks = locks_.wants_common_time();
  const std::size_t grown = pages_.log().bytes();
  if (is_wanted_by_locks || grown >= log_bytes_before_ + options_.log_bytes) ask_to_collect();
}

void Node::ask_to_collect() {
  if (has_asked_to_collect_) return;
  has_asked_to_collect_ = true;
  if (me_ == 0) return begin_collection();
  JobHead head{};
  head.job = Job::collect;
  tell_job(0, head);
}

void Node::begin_collection() {
  if (is_collecting_) return;
  is_collecting_ = true;
  known_.assign(ranks_, std::nullopt);
  for (Rank rank = 1; rank < ranks_; rank++) {
    tell_log(rank, Job::ask_known, pages_.log().known(), {});
  }
  take_known(0, pages_.log().known());
}

// The last answer ends the round.
void Node::take_known(Rank from, const VectorTime& known) {
  known_[from] = known;
  if (!std::ranges::all_of(known_, [](const auto& each) { return each.has_value(); })) return;
  VectorTime least = *known_[0];
  for (const auto& each : known_) {
    for (Rank writer = 0; writer < ranks_; writer++) {
      least[writer] = std::min(least[writer], (*each)[writer]);
    }
  }
  is_collecting_ = false;
  for (Rank rank = 1; rank < ranks_; rank++) {
    const VectorTime& known_there = *known_[rank];
    // In a tree, this may overtake the barrier that brings the rank what is forgotten here.
    const bool has_all = pages_.log().has_all_after(known_there);
    tell_log(rank, Job::forget, least,
             has_all ? pages_.log().after(known_there) : std::vector<Interval>());
  }
  forget(least);
}

void Node::tell_log(Rank to, Job job, const VectorTime& time, std::span<const Interval> intervals) {
  std::vector<std::byte> payload;
  append_time(time, &payload);
  append_intervals(intervals, &payload);
  JobHead head{};
  head.job = job;
  mail_.send(to, Message::tell_job, fabric::bytes_of(head), payload);
}

void Node::forget(const VectorTime& time) {
  pages_.forget_up_to(time);
  has_asked_to_collect_ = false;
  log_bytes_before_ = pages_.log().bytes();
  stats_.collections++;
  if (locks_.all_know(time)) ask_to_collect();
}

bool Node::serve_collection(Rank from, Job job, fabric::Bytes payload) {
  if ((me_ == 0) == (from == 0)) return false;
  if (job == Job::collect) {
    if (me_ == 0 && payload.empty()) begin_collection();
    return me_ == 0 && payload.empty();
  }
  std::vector<std::byte> room;
  payload = receiver_.join(from, payload, &room);
  VectorTime time;
  std::vector<Interval> intervals;
  const bool is_sound =
      take_time(bounds(), &payload, &time) && read_intervals(bounds(), payload, &intervals);
  if (!is_sound) return false;
  switch (job) {
    case Job::ask_known:
      if (me_ == 0 || !intervals.empty()) return false;
      tell_log(0, Job::tell_known, pages_.log().known(), pages_.log().after(time));
      return true;
    case Job::tell_known:
      if (me_ != 0 || !is_collecting_ || known_[from]) return false;
      pages_.learn(intervals);
      take_known(from, time);
      return true;
    case Job::forget:
      if (me_ == 0) return false;
      pages_.learn(intervals);
      forget(time);
      return true;
    default:
      return false;
  }
}

}  // namespace iw::dsm
