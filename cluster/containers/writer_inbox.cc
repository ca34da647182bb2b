#include "containers/writer_inbox.h"

#include <algorithm>
#include <utility>

namespace iw::containers {
Answer WriterInbox::take_join(int link, const en_t& reader) {
  const platform::MutexLock held(mutex_);
  const bool is_known =
      answers_.contains(link) ||
      std::ranges::find(news_.joining, link, &Joiner::link) != news_.joining.end();
  if (link <= 0 || is_known || !may_join_ || news_.joining.size() >= joiners_max) {
    return Answer::gone;
  }
  news_.joining.push_back({link, reader});
  has_news_ = true;
  changed_.notify_all();
  return Answer::ok;
}

Answer WriterInbox::take(const Head& head, std::span<const std::byte>) {
  const platform::MutexLock held(mutex_);
  if (!answers_.contains(head.link)) return Answer::gone;
  switch (head.kind) {
    case leave:
      news_.leaving.push_back(head.link);
      break;
    case want_object:
      news_.wanting.push_back(head.link);
      break;
    case want_role:
      if (!may_take_role_ || role_wanted_by_ != 0) return Answer::refused;
      role_wanted_by_ = head.link;
      knocked_.notify_all();
      return Answer::ok;
    case role_taken:
      is_role_taken_ = true;
      knocked_.notify_all();
      return Answer::ok;
    default:
      return Answer::refused;
  }
  has_news_ = true;
  changed_.notify_all();
  return Answer::ok;
}

void WriterInbox::answered(int link, Answer answer, std::uint32_t sequence) {
  const platform::MutexLock held(mutex_);
  const auto found = answers_.find(link);
  if (found == answers_.end()) return;
  found->second++;
  has_answers_ = true;
  if (answer == Answer::queue_full) news_.full.emplace_back(link, sequence);
  if (answer == Answer::gone) news_.gone.push_back(link);
  if (answer != Answer::ok) has_news_ = true;
  if (has_news_ || wants_answers_) changed_.notify_all();
}

void WriterInbox::came_back(int link) {
  const platform::MutexLock held(mutex_);
  if (!answers_.contains(link)) return;
  news_.gone.push_back(link);
  has_news_ = true;
  changed_.notify_all();
}

void WriterInbox::open(int link) {
  const platform::MutexLock held(mutex_);
  answers_.emplace(link, 0);
}

void WriterInbox::close(int link) {
  const platform::MutexLock held(mutex_);
  answers_.erase(link);
  knocked_.notify_all();
}

void WriterInbox::set_joining(bool is_allowed) {
  const platform::MutexLock held(mutex_);
  may_join_ = is_allowed && !is_door_closed_;
}

void WriterInbox::set_giving(bool is_allowed) {
  const platform::MutexLock held(mutex_);
  may_take_role_ = is_allowed && !is_door_closed_;
}

bool WriterInbox::wait_for_taker(int* taker) {
  const platform::MutexLock held(mutex_);
  while (!is_door_closed_ && role_wanted_by_ == 0) knocked_.wait(mutex_);
  if (is_door_closed_) return false;
  *taker = taker_ = std::exchange(role_wanted_by_, 0);
  is_role_taken_ = false;
  return true;
}

bool WriterInbox::wait_for_role_taken(Clock::time_point until) {
  const platform::MutexLock held(mutex_);
  while (!is_door_closed_ && !is_role_taken_ && answers_.contains(taker_) &&
         knocked_.wait_until(mutex_, until)) {
  }
  return is_role_taken_;
}

void WriterInbox::close_door() {
  const platform::MutexLock held(mutex_);
  may_join_ = may_take_role_ = false;
  is_door_closed_ = true;
  knocked_.notify_all();
}

bool WriterInbox::is_door_closed() const {
  const platform::MutexLock held(mutex_);
  return is_door_closed_;
}

void WriterInbox::wait_until_door_closed(Clock::time_point until) {
  const platform::MutexLock held(mutex_);
  while (!is_door_closed_ && knocked_.wait_until(mutex_, until)) {
  }
}

void WriterInbox::wait_for_news(Clock::time_point until, bool wants_answers) {
  const platform::MutexLock held(mutex_);
  wants_answers_ = wants_answers;
  while (!is_stopped_ && !is_woken_ && !has_news_ && !(wants_answers && has_answers_) &&
         changed_.wait_until(mutex_, until)) {
  }
  wants_answers_ = is_woken_ = false;
}

WriterInbox::News WriterInbox::take_news() {
  const platform::MutexLock held(mutex_);
  has_news_ = has_answers_ = false;
  News news = std::exchange(news_, {});
  news.answers = answers_;
  return news;
}

void WriterInbox::wake() {
  const platform::MutexLock held(mutex_);
  is_woken_ = true;
  changed_.notify_all();
}

void WriterInbox::stop() {
  const platform::MutexLock held(mutex_);
  is_stopped_ = true;
  changed_.notify_all();
}

bool WriterInbox::is_stopped() const {
  const platform::MutexLock held(mutex_);
  return is_stopped_;
}

}  // namespace iw::containers
