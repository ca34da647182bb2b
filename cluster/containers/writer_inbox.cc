#include "containers/writer_inbox.h"

#include <cstring>
#include <utility>

namespace iw::containers {
namespace {

constexpr std::size_t joiners_max = 1024;

}  // namespace

Answer WriterInbox::take_join(const Head& head, std::span<const std::byte> block) {
  Joiner joiner{head.link, {}};
  const bool is_sound = block.size() == sizeof joiner.name && head.link > 0;
  if (!is_sound || !may_join_ || joiners_.size() >= joiners_max || answers_.contains(head.link)) {
    return Answer::gone;
  }
  std::memcpy(&joiner.name, block.data(), sizeof joiner.name);
  joiners_.push_back(joiner);
  joined_.notify_all();
  return Answer::ok;
}

Answer WriterInbox::take(const Head& head, std::span<const std::byte> block) {
  const std::lock_guard held(mutex_);
  if (head.kind == join) return take_join(head, block);
  if (!answers_.contains(head.link)) return Answer::gone;
  switch (head.kind) {
    case leave:
      news_.leaving.push_back(head.link);
      break;
    case want_object:
      news_.wanting.push_back(head.link);
      break;
    case want_role:
      if (!may_take_role_ || news_.role_wanted_by != 0) return Answer::refused;
      news_.role_wanted_by = head.link;
      break;
    case role_taken:
      news_.is_role_taken = true;
      break;
    default:
      return Answer::refused;
  }
  has_news_ = true;
  changed_.notify_all();
  return Answer::ok;
}

void WriterInbox::answered(int link, Answer answer, std::uint32_t sequence) {
  const std::lock_guard held(mutex_);
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
  const std::lock_guard held(mutex_);
  if (!answers_.contains(link)) return;
  news_.gone.push_back(link);
  has_news_ = true;
  changed_.notify_all();
}

void WriterInbox::open(int link) {
  const std::lock_guard held(mutex_);
  answers_.emplace(link, 0);
}

void WriterInbox::close(int link) {
  const std::lock_guard held(mutex_);
  answers_.erase(link);
}

std::uint64_t WriterInbox::answers(int link) const {
  const std::lock_guard held(mutex_);
  const auto found = answers_.find(link);
  return found == answers_.end() ? 0 : found->second;
}

void WriterInbox::set_joining(bool is_allowed) {
  const std::lock_guard held(mutex_);
  may_join_ = is_allowed;
}

void WriterInbox::set_giving(bool is_allowed) {
  const std::lock_guard held(mutex_);
  may_take_role_ = is_allowed;
}

bool WriterInbox::wait_for_joiner(Joiner* joiner) {
  std::unique_lock held(mutex_);
  joined_.wait(held, [&] { return is_stopped_ || !joiners_.empty(); });
  if (is_stopped_) return false;
  *joiner = joiners_.front();
  joiners_.pop_front();
  return true;
}

WriterInbox::News WriterInbox::take_news(Clock::time_point until, bool wants_answers) {
  std::unique_lock held(mutex_);
  wants_answers_ = wants_answers;
  changed_.wait_until(held, until, [&] { return has_news_ || (wants_answers && has_answers_); });
  has_news_ = has_answers_ = wants_answers_ = false;
  return std::exchange(news_, {});
}

void WriterInbox::wake() {
  const std::lock_guard held(mutex_);
  has_news_ = true;
  changed_.notify_all();
}

void WriterInbox::stop() {
  const std::lock_guard held(mutex_);
  is_stopped_ = has_news_ = true;
  changed_.notify_all();
  joined_.notify_all();
}

bool WriterInbox::is_stopped() const {
  const std::lock_guard held(mutex_);
  return is_stopped_;
}

}  // namespace iw::containers
