// Entering and leaving the lock among the process's threads; talking to the server.
#include "client/segment.h"

#include <algorithm>

#include "client/log.h"
#include "client/runtime.h"
#include "client/waiting.h"
#include "platform/process.h"
#include "session/frame_writer.h"

namespace iw::client {

using platform::now_ns;
using protocol::error_code;

Segment::Segment(Runtime& runtime, types::Url url, Link& link)
    : runtime_(runtime),
      url_(std::move(url)),
      name_(url_.text()),
      link_(link),
      fork_count_(platform::fork_count()) {}

Result Segment::check_usable() const {
  if (fork_count_ != platform::fork_count()) {
    return {error_code::FORKED,
            "the handle was opened before fork; open the segment again in the child"};
  }
  if (!is_usable_.load(std::memory_order_relaxed)) {
    return {error_code::NOT_OPEN, "the segment is not open; IW_open_segment opens it"};
  }
  return {};
}

Wish Segment::wish_for(double seconds, bool fresh) const {
  const double timeout_s = timeout_s_.load(std::memory_order_relaxed);
  if (seconds == 0) return {deadline_after(timeout_s), false, fresh};
  return {deadline_after(seconds < 0 ? timeout_s : seconds), true, fresh};
}

std::shared_ptr<memory::Heap> Segment::heap() {
  const MutexLock lock(mutex_);
  return copy_ == nullptr ? nullptr : copy_->shared_heap();
}

Result Segment::converse(Request& request, const Body& body, std::int64_t deadline_ns,
                         bool keep_trying) {
  request.segment = this;
  while (true) {
    std::shared_ptr<Live> live;
    if (Result result = live_and_open(deadline_ns, keep_trying, live); !result) return result;
    {
      const MutexLock lock(mutex_);
      if (is_removed_) return {error_code::REMOVED, "the segment was removed"};
      request.body = body(number_);
      ++stats_.messages_sent;
    }
    const Result called = link_.call(live, request, deadline_ns);
    {
      const MutexLock lock(mutex_);
      stats_.bytes_sent += request.frame_bytes;
    }
    const bool is_lost = called.code == error_code::UNREACHABLE;
    if (is_lost && keep_trying && now_ns() < deadline_ns) continue;
    return is_lost && live->lacked_memory() ? Result::no_memory() : called;
  }
}

Result Segment::post(message_type type, const Body& body) {
  return types::or_no_memory([&]() -> Result {
    const std::shared_ptr<Live> live = link_.current();
    Request request;
    {
      const MutexLock lock(mutex_);
      if (live == nullptr || live != live_) {
        return {error_code::UNREACHABLE, "this process is not connected to the server now"};
      }
      request.body = body(number_);
    }
    request.segment = this;
    request.type = type;
    Result posted = link_.post(live, request);
    const MutexLock lock(mutex_);
    stats_.bytes_sent += request.frame_bytes;
    ++stats_.messages_sent;
    return posted;
  });
}

// ---- the lock among threads ----

// False: the deadline has passed, or there is to be no waiting.
bool Segment::wait(const Wish& wish) {
  if (!wish.may_wait || now_ns() >= wish.deadline_ns) return false;
  wait_until(changed_, mutex_, wish.deadline_ns);
  return true;
}

Result Segment::enter_exclusive(const Wish& wish) {
  threads_.begin_waiting();
  while (!threads_.may_enter(Role::exclusive)) {
    if (wait(wish)) continue;
    threads_.end_waiting();
    changed_.notify_all();
    return {error_code::TIMED_OUT,
            "other threads of this process did not release the segment before the deadline"};
  }
  threads_.end_waiting();
  if (copy_ == nullptr) {
    changed_.notify_all();
    return {error_code::NOT_OPEN, "another thread closed the segment meanwhile"};
  }
  threads_.enter(Role::exclusive);
  return {};
}

void Segment::leave_exclusive() {
  threads_.leave(Role::exclusive);
  changed_.notify_all();
}

void Segment::show_access(track::Access access) {
  if (!log_choice().locks || copy_ == nullptr) return;
  say_if_possible([&] {
    const Result shown = copy_->heap().set_access(access);
    if (!shown) report(shown.code, name_ + ": " + shown.text);
  });
}

void Segment::thread_ended(const Hold& hold) noexcept {
  if (fork_count_ != platform::fork_count()) return;
  const auto kept = weak_from_this().lock();  // another thread may close the segment meanwhile
  {
    const MutexLock lock(mutex_);
    if (hold.opening != opening_) return;
  }
  if (hold.writes > 0) {
    say_if_possible([this] {
      report(error_code::NO_LOCK,
             name_ + ": a thread ended with the writer lock; its changes are undone");
    });
    (void)abort_writer();
  }
  // Taken under the writer lock, it goes on alone after the abort.
  if (Hold* const reading = find_hold(this); reading != nullptr) {
    reading->reads = 1;
    (void)release_reader();
  }
}

}  // namespace iw::client
