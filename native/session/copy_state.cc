#include "session/copy_state.h"

#include <algorithm>
#include <utility>

namespace iw::session {
namespace {

// The same number with another chain is another history, which has taken the place of ours
// [COH-11].
bool is_after(const version_stamp& a, const version_stamp& b) {
  return a.incarnation != b.incarnation || a.number > b.number ||
         (a.number == b.number && a.chain != b.chain);
}

}  // namespace

CopyState::CopyState(const CopyState& other)
    : adaptation(other.adaptation),
      known_(other.known_),
      had_(other.had_),
      subscription_(other.subscription_),
      is_told_(other.is_told_),
      is_overrated_(other.is_overrated_),
      is_unsure_(other.is_unsure_),
      coming_(other.coming_),
      reach_as_of_ns_(other.reach_as_of_ns_),
      credit_bytes_(other.credit_bytes_),
      lost_(other.lost_) {
  for (const StagedDiff& diff : other.staged_) {
    staged_.push_back({diff.from, diff.now, diff.bytes.copy(), diff.was_pushed, diff.as_of_ns});
  }
}

coherence::Knowledge CopyState::knowledge(std::int64_t heard_ns, std::int64_t heartbeat_ns) const {
  coherence::Knowledge known = known_;
  known.heard_ns = heard_ns;
  known.heartbeat_ns = heartbeat_ns;
  // The promise is about reach() [FRESH-3].
  known.promised = staged_.empty() && is_promised();
  if (known.promised) known.promise = *subscription_;
  return known;
}

coherence::Knowledge CopyState::with_staged(coherence::Knowledge known) const {
  if (staged_.empty()) return known;
  known.has_copy = true;
  known.copy = reach();
  known.confirmed_ns = reach_as_of_ns_;
  known.promised = is_promised();
  if (known.promised) known.promise = *subscription_;
  return known;
}

bool CopyState::is_promised() const {
  return subscription_.has_value() && !is_told_ && !is_overrated_ && !is_unsure_ && !coming_;
}

void CopyState::reached_newest() {
  if (reach() == known_.newest) is_told_ = is_overrated_ = is_unsure_ = false;
}

void CopyState::subscribed(const coherence::Bound& promise, const version_stamp& newest,
                           std::int64_t as_of_ns) {
  subscription_ = promise;
  is_told_ = false;
  // The other bounds are known to be kept or broken by the numbers of the versions.
  is_unsure_ = promise.model == coherence::Model::DIFF && newest != reach();
  newest_is(newest, as_of_ns);
}

std::int64_t CopyState::as_of_notified(const version_stamp& newest) const {
  const bool is_later =
      newest.incarnation == known_.newest.incarnation && newest.number >= known_.newest.number;
  return is_later ? known_.newest_as_of_ns : coherence::never_ns;
}

version_stamp CopyState::reach() const {
  return staged_.empty() ? known_.copy : staged_.back().now;
}

version_stamp CopyState::will_reach() const {
  const bool continues = coming_ && coming_->from == reach();
  return continues ? coming_->now : reach();
}

bool CopyState::reaches(const version_stamp& version) const {
  const version_stamp end = reach();
  return end == version || (end.incarnation == version.incarnation && end.number > version.number);
}

version_stamp CopyState::base_of_update(std::uint64_t number, std::uint64_t incarnation) const {
  const version_stamp end = reach();
  const bool continues = end.incarnation == incarnation && end.number == number;
  return {incarnation, number, continues ? end.chain : 0};
}

void CopyState::newest_is(const version_stamp& newest, std::int64_t as_of_ns) {
  if (is_after(newest, known_.newest)) known_.newest = newest;
  if (newest == known_.newest) {
    known_.newest_as_of_ns = std::max(known_.newest_as_of_ns, as_of_ns);
  }
  if (newest == reach()) reach_as_of_ns_ = std::max(reach_as_of_ns_, as_of_ns);
  if (known_.has_copy && newest == known_.copy) {
    known_.confirmed_ns = std::max(known_.confirmed_ns, as_of_ns);
  }
}

void CopyState::opened_at(const version_stamp& newest, std::int64_t as_of_ns) {
  if (is_after(reach(), newest)) clear_staged();
  known_.newest = newest;
  newest_is(newest, as_of_ns);
}

void CopyState::up_to_date(const version_stamp& newest, std::int64_t as_of_ns) {
  // The empty segment needs no diff to be a copy of it.
  if (!known_.has_copy && staged_.empty() && newest.number == 0) {
    known_.has_copy = true;
    known_.copy = had_ = newest;
  }
  newest_is(newest, as_of_ns);
  is_unsure_ = false;
  reached_newest();
}

bool CopyState::stage(StagedDiff diff) {
  const bool is_complete = diff.from.number == 0;
  // Answers come in version order: a complete copy of a lower number says that the server went
  // back.
  if (is_complete) known_.newest = diff.now;
  newest_is(diff.now, diff.as_of_ns);
  is_unsure_ = false;
  const version_stamp end = reach();
  const bool continues = diff.from == end || is_complete;
  if (!continues || (diff.now == end && known_.has_copy)) {
    give_credit(diff);
    if (diff.now != end) lose_diffs();
    return diff.now == end;
  }
  if (is_complete) clear_staged();
  const std::int64_t as_of_ns = diff.as_of_ns;
  staged_.push_back(std::move(diff));
  reach_as_of_ns_ = as_of_ns;
  reached_newest();
  return true;
}

std::optional<StagedDiff> CopyState::take_staged() {
  while (!staged_.empty()) {
    StagedDiff diff = std::move(staged_.front());
    staged_.pop_front();
    if (diff.from == known_.copy || diff.from.number == 0) return diff;
    give_credit(diff);
  }
  return std::nullopt;
}

void CopyState::applied(const StagedDiff& diff) {
  give_credit(diff);
  known_.has_copy = true;
  known_.copy = had_ = diff.now;
  known_.confirmed_ns = staged_.empty() ? std::max(reach_as_of_ns_, diff.as_of_ns) : diff.as_of_ns;
}

void CopyState::drop_staged() {
  lose_diffs();
  clear_staged();
}

void CopyState::lose_diffs() {
  is_overrated_ = true;
  ++lost_;
}

void CopyState::clear_staged() {
  for (const StagedDiff& diff : staged_) give_credit(diff);
  staged_.clear();
  reach_as_of_ns_ = known_.confirmed_ns;
}

void CopyState::released(const version_stamp& version, std::int64_t as_of_ns) {
  clear_staged();
  known_.has_copy = true;
  known_.copy = had_ = version;
  known_.confirmed_ns = as_of_ns;
  newest_is(version, as_of_ns);
  reached_newest();
}

void CopyState::forget() {
  drop_staged();
  known_.has_copy = false;
  known_.copy = {};
  known_.confirmed_ns = coherence::never_ns;
  reach_as_of_ns_ = coherence::never_ns;
}

void CopyState::clear() {
  known_ = {};
  had_ = {};
  subscription_.reset();
  is_told_ = is_overrated_ = is_unsure_ = false;
  coming_.reset();
  staged_.clear();
  reach_as_of_ns_ = coherence::never_ns;
  credit_bytes_ = 0;
  adaptation = {};
}

void CopyState::connection_lost() {
  unsubscribed();
  coming_.reset();
  known_.newest_as_of_ns = coherence::never_ns;
  for (StagedDiff& diff : staged_) diff.was_pushed = false;
  credit_bytes_ = 0;
}

std::uint64_t CopyState::take_credit(std::uint64_t least_bytes) {
  return credit_bytes_ < least_bytes ? 0 : std::exchange(credit_bytes_, 0);
}

void CopyState::keep_credit(std::uint64_t bytes) { credit_bytes_ += bytes; }

void CopyState::give_credit(const StagedDiff& diff) {
  if (diff.was_pushed) credit_bytes_ += diff.bytes.size_bytes();
}

}  // namespace iw::session
