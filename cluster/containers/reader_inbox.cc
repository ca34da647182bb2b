#include "containers/reader_inbox.h"

#include <algorithm>
#include <utility>

namespace iw::containers {

bool Item::is_undamaged() const {
  for (std::size_t part = 0; part < buffers.size(); part++) {
    const auto sum =
        checksum_of(head.kind, head.signature, static_cast<std::uint32_t>(part), buffers[part]);
    if (sum != checksums[part]) return false;
  }
  return true;
}

Answer ReaderInbox::take(const Head& head, std::span<const std::byte> block) {
  const platform::MutexLock held(mutex_);
  if (head.link != link_ || (tie_ != Tie::joined && tie_ != Tie::joining)) return Answer::gone;
  heard_ = Clock::now();
  life_ms_ = std::clamp(head.life_ms, 1, life_ms_max);
  switch (head.kind) {
    case ping:
      pings_++;
      return Answer::ok;
    case writer_ended:
      tie_ = Tie::ended;
      break;
    case writer_moved:
      tie_ = Tie::moving;
      break;
    case role_is_yours:
      has_role_ = true;
      break;
    default:
      return take_part(head, block);
  }
  changed_.notify_all();
  return Answer::ok;
}

void ReaderInbox::lose_incoming() {
  incoming_.reset();
  is_behind_ = true;
}

Answer ReaderInbox::take_part(const Head& head, std::span<const std::byte> block) {
  const bool is_object = head.kind == whole_object;
  if (head.part == 0) {
    incoming_.reset();
    if (!is_object && is_behind_) return Answer::ok;
    if (!is_object && head.sequence != expected_) {
      is_behind_ = true;
      return Answer::queue_full;
    }
    incoming_ = Item{head, {}, {}};
    incoming_bytes_ = 0;
  }
  if (!incoming_) return Answer::ok;  // a later part of an item that is dropped
  const std::size_t bytes_max = is_object ? object_bytes_max : update_bytes_max;
  incoming_bytes_ += block.size();
  if (head.sequence != incoming_->head.sequence || head.kind != incoming_->head.kind ||
      head.part != incoming_->buffers.size() || incoming_bytes_ > bytes_max) {
    lose_incoming();
    return Answer::queue_full;
  }
  incoming_->buffers.emplace_back(block.begin(), block.end());
  incoming_->checksums.push_back(head.checksum);
  if (block.size() == part_bytes) return Answer::ok;
  return take_whole(*std::exchange(incoming_, std::nullopt));
}

Answer ReaderInbox::take_whole(Item item) {
  expected_ = item.head.sequence + 1;
  if (item.head.kind == whole_object) {
    queue_.clear();
    object_ = std::move(item);
    is_behind_ = false;
    if (tie_ == Tie::joining) tie_ = Tie::joined;
    changed_.notify_all();
    return Answer::ok;
  }
  if (queue_.size() >= options_.queue_length) {
    is_behind_ = true;
    return Answer::queue_full;
  }
  queue_.push_back(std::move(item));
  if (options_.evaluates_in_background) changed_.notify_all();
  return Answer::ok;
}

void ReaderInbox::answered(int link, Answer answer, std::uint32_t question) {
  const platform::MutexLock held(mutex_);
  if (link != link_ || question != asked_) return;
  answer_ = answer;
  changed_.notify_all();
}

void ReaderInbox::came_back(int link) {
  const platform::MutexLock held(mutex_);
  if (link != link_) return;
  answer_ = Answer::gone;
  if (tie_ == Tie::joined) tie_ = Tie::broken;
  changed_.notify_all();
}

void ReaderInbox::start(int link) {
  const platform::MutexLock held(mutex_);
  link_ = link;
  tie_ = Tie::joining;
  is_behind_ = true;
  has_role_ = false;
  incoming_.reset();
  answer_.reset();
  asked_ = 0;
  heard_ = Clock::now();
}

ReaderInbox::Batch ReaderInbox::take_batch() {
  const platform::MutexLock held(mutex_);
  return {std::exchange(object_, std::nullopt), std::exchange(queue_, {})};
}

void ReaderInbox::fall_behind() {
  const platform::MutexLock held(mutex_);
  queue_.clear();
  object_.reset();
  is_behind_ = true;
}

bool ReaderInbox::is_behind() const {
  const platform::MutexLock held(mutex_);
  return is_behind_;
}

Tie ReaderInbox::tie() const {
  const platform::MutexLock held(mutex_);
  return tie_;
}

void ReaderInbox::set_tie(Tie tie) {
  const platform::MutexLock held(mutex_);
  tie_ = tie;
  changed_.notify_all();
}

int ReaderInbox::link() const {
  const platform::MutexLock held(mutex_);
  return link_;
}

std::size_t ReaderInbox::queued() const {
  const platform::MutexLock held(mutex_);
  return queue_.size();
}

std::uint64_t ReaderInbox::pings() const {
  const platform::MutexLock held(mutex_);
  return pings_;
}

int ReaderInbox::life_ms() const {
  const platform::MutexLock held(mutex_);
  return life_ms_;
}

void ReaderInbox::hear() {
  const platform::MutexLock held(mutex_);
  heard_ = Clock::now();
}

bool ReaderInbox::is_writer_silent(Clock::time_point now) const {
  const platform::MutexLock held(mutex_);
  return tie_ == Tie::joined && now - heard_ > std::chrono::milliseconds(life_ms_);
}

std::uint32_t ReaderInbox::expect_answer() {
  const platform::MutexLock held(mutex_);
  answer_.reset();
  return ++asked_;
}

bool ReaderInbox::wait_for_answer(Clock::time_point deadline, Answer* answer) {
  const platform::MutexLock held(mutex_);
  while (!answer_.has_value() && changed_.wait_until(mutex_, deadline)) {
  }
  if (!answer_.has_value()) return false;
  *answer = *answer_;
  return true;
}

bool ReaderInbox::may_object_come() const {
  const bool is_tied = tie_ == Tie::joined || tie_ == Tie::joining;
  return is_behind_ && is_tied && !is_stopped_ && answer_ != Answer::gone;
}

bool ReaderInbox::wait_for_object(Clock::time_point deadline) {
  const platform::MutexLock held(mutex_);
  while (may_object_come() && changed_.wait_until(mutex_, deadline)) {
  }
  return !is_behind_;
}

bool ReaderInbox::wait_for_role(Clock::time_point deadline) {
  const platform::MutexLock held(mutex_);
  while (!has_role_ && tie_ == Tie::joined && changed_.wait_until(mutex_, deadline)) {
  }
  return has_role_;
}

bool ReaderInbox::wait_for_move(Clock::time_point until) {
  const platform::MutexLock held(mutex_);
  while (!is_stopped_ && tie_ != Tie::moving && changed_.wait_until(mutex_, until)) {
  }
  return !is_stopped_ && tie_ == Tie::moving;
}

bool ReaderInbox::has_work() const {
  return (object_.has_value() || !queue_.empty()) && tie_ != Tie::moving;
}

bool ReaderInbox::wait_for_work() {
  const platform::MutexLock held(mutex_);
  while (!is_stopped_ && !has_work()) changed_.wait(mutex_);
  return !is_stopped_;
}

void ReaderInbox::stop() {
  const platform::MutexLock held(mutex_);
  is_stopped_ = true;
  changed_.notify_all();
}

bool ReaderInbox::is_stopped() const {
  const platform::MutexLock held(mutex_);
  return is_stopped_;
}

void ReaderInbox::wait_until_stopped(Clock::time_point until) {
  const platform::MutexLock held(mutex_);
  while (!is_stopped_ && changed_.wait_until(mutex_, until)) {
  }
}

bool ReaderInbox::flip_a_bit() {
  const platform::MutexLock held(mutex_);
  if (queue_.empty() || queue_.back().buffers.back().empty()) return false;
  queue_.back().buffers.back().back() ^= std::byte{1};
  return true;
}

}  // namespace iw::containers
