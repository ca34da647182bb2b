// Opening and closing; entering and leaving the lock among the process's threads.
#include "abi/segment.h"

#include <algorithm>

#include "abi/log.h"
#include "abi/optimisations.h"
#include "abi/runtime.h"
#include "abi/waiting.h"
#include "platform/process.h"
#include "session/frame_writer.h"

namespace iw::abi {

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
  if (seconds == 0) return {deadline_after(wish_.timeout_s), false, fresh};
  return {deadline_after(seconds < 0 ? wish_.timeout_s : seconds), true, fresh};
}

// ---- opening ----

Result Segment::open(const OpenWish& wish) {
  if (const Result& good = check_optimisations(); !good) return good;
  {
    const Lock lock(mutex_);
    if (open_count_ == 0) {
      const bool keeps_copy =
          is_implicit_ && copy_ != nullptr && copy_->heap().is_read_only() == wish.read_only;
      if (!keeps_copy) copy_.reset();
      wish_ = wish;
      is_removed_ = false;
    } else if (wish_.read_only && !wish.read_only) {
      return {error_code::READ_ONLY, "it is open here read-only already; close it first"};
    }
  }
  std::shared_ptr<Live> live;
  const std::int64_t deadline_ns = deadline_after(wish.timeout_s);
  if (Result result = live_and_open(deadline_ns, false, live); !result) return result;
  if (Result made = make_copy(); !made) return made;
  const Lock lock(mutex_);
  // From now on a lost segment is made anew only if this program would have made it.
  if (open_count_++ == 0) ++opening_;
  is_usable_ = true;
  return {};
}

Result Segment::open_for_pointers(std::int64_t deadline_ns) {
  {
    const Lock lock(mutex_);
    if (open_count_ > 0) return {};
    if (!is_implicit_) wish_ = OpenWish{};
    wish_.create = false;
    is_implicit_ = true;
  }
  std::shared_ptr<Live> live;
  if (Result result = live_and_open(deadline_ns, false, live); !result) return result;
  return make_copy();
}

Result Segment::make_copy() {
  const Lock lock(mutex_);
  if (copy_ != nullptr) return {};
  state_ = session::CopyState{};
  Result made = Copy::create(url_, wish_.read_only, copy_);
  if (made) show_access(track::Access::none);
  return made;
}

Result Segment::live_and_open(std::int64_t deadline_ns, bool keep_trying,
                              std::shared_ptr<Live>& out) {
  while (true) {
    const std::shared_ptr<Live> before = link_.current();
    if (Result result = link_.connected(deadline_ns, keep_trying, out); !result) return result;
    // One that was there already may have died unseen: then a new one is tried in any case.
    const bool may_be_dead = out == before;
    if (!opening_turn_.take(deadline_ns)) {
      return {error_code::TIMED_OUT,
              "the server has not answered another thread that opens the segment before the "
              "deadline"};
    }
    const TakenTurn one_at_a_time(opening_turn_);
    {
      const Lock lock(mutex_);
      if (live_ == out && !out->is_lost()) return {};
    }
    const Result opened = open_on_server(out, deadline_ns);
    const bool is_retried = out->is_lost() && (keep_trying || may_be_dead);
    if (opened.ok() || !is_retried || now_ns() >= deadline_ns) return opened;
  }
}

Result Segment::open_on_server(const std::shared_ptr<Live>& live, std::int64_t deadline_ns) {
  protocol::open_segment wanted;
  wanted.path = url_.path;
  {
    const Lock lock(mutex_);
    wanted.create = wish_.create;
    wanted.read_only = wish_.read_only;
    wanted.durable = wish_.durable;
    wanted.quota_bytes = wish_.quota_bytes;
  }
  Request request;
  request.type = message_type::OPEN_SEGMENT;
  request.body = session::encoded(wanted);
  if (Result called = link_.call(live, request, deadline_ns); !called) return called;
  protocol::segment_opened opened;
  Result answered = session::decode_answer(request.answer, message_type::SEGMENT_OPENED, opened);
  if (!answered) return answered;
  {
    const Lock lock(mutex_);
    live_ = live;
    number_ = opened.segment;
    quota_bytes_ = opened.quota_bytes;
    subscription_.settled();
    if (!live->is_resumed() && grant_.is_held()) grant_.lost(grant_.fence());
    state_.newest_is(opened.newest, request.answer.sent_ns);
    stats_.bytes_sent += request.frame_bytes;
    ++stats_.messages_sent;
    count_received(request.answer);
  }
  link_.listen(live, opened.segment, this);
  runtime_.wake();
  return {};
}

Result Segment::close() {
  Lock lock(mutex_);
  if (open_count_ > 1) {
    --open_count_;
    return {};
  }
  if (const Hold* hold = find_hold(this); hold != nullptr && hold->writes > 0) {
    lock.unlock();
    (void)abort_writer();
    lock.lock();
  }
  if (Hold* const reading = find_hold(this); reading != nullptr) {
    reading->reads = 1;
    lock.unlock();
    (void)release_reader();
    lock.lock();
  }
  if (Result alone = enter_exclusive(lock, wish_for(-1)); !alone) {
    return {error_code::TIMED_OUT, "other threads hold locks of the segment; release them first"};
  }
  lock.unlock();
  undo_strays();
  lock.lock();
  open_count_ = 0;
  is_usable_ = false;
  is_implicit_ = false;
  readers_ = 0;
  copy_.reset();
  change_fn_ = nullptr;
  change_due_ns_ = platform::never_ns;
  recent_fn_ = nullptr;
  bound_ = {};
  const std::shared_ptr<Live> live = std::exchange(live_, nullptr);
  const std::uint32_t number = number_;
  state_ = session::CopyState{};
  stats_ = {};
  leave_exclusive();
  wait_for_callback(lock);
  lock.unlock();
  if (live == nullptr || live->is_lost()) return {};
  link_.listen(live, number, nullptr);
  Request request;
  request.type = message_type::CLOSE_SEGMENT;
  request.body = session::encoded(protocol::close_segment{number});
  (void)link_.post(live, request);
  return {};
}

std::shared_ptr<memory::Heap> Segment::heap() {
  const Lock lock(mutex_);
  return copy_ == nullptr ? nullptr : copy_->shared_heap();
}

Result Segment::converse(Request& request, const Body& body, std::int64_t deadline_ns,
                         bool keep_trying) {
  request.segment = this;
  while (true) {
    std::shared_ptr<Live> live;
    if (Result result = live_and_open(deadline_ns, keep_trying, live); !result) return result;
    {
      const Lock lock(mutex_);
      if (is_removed_) return {error_code::REMOVED, "the segment was removed"};
      request.body = body(number_);
      ++stats_.messages_sent;
    }
    const Result called = link_.call(live, request, deadline_ns);
    {
      const Lock lock(mutex_);
      stats_.bytes_sent += request.frame_bytes;
    }
    const bool is_lost = called.code == error_code::UNREACHABLE;
    if (!is_lost || !keep_trying || now_ns() >= deadline_ns) return called;
  }
}

Result Segment::post(message_type type, const Body& body) {
  const std::shared_ptr<Live> live = link_.current();
  Request request;
  {
    const Lock lock(mutex_);
    if (live == nullptr || live != live_) {
      return {error_code::UNREACHABLE, "there is no connection to the server now"};
    }
    request.body = body(number_);
  }
  request.segment = this;
  request.type = type;
  const Result posted = link_.post(live, request);
  const Lock lock(mutex_);
  stats_.bytes_sent += request.frame_bytes;
  ++stats_.messages_sent;
  return posted;
}

// ---- the lock among threads ----

// False: the deadline has passed, or there is to be no waiting.
bool Segment::wait(Lock& lock, const Wish& wish) {
  if (!wish.may_wait || now_ns() >= wish.deadline_ns) return false;
  wait_until(changed_, lock, wish.deadline_ns);
  return true;
}

Result Segment::enter_exclusive(Lock& lock, const Wish& wish) {
  ++waiting_exclusive_;
  while (exclusive_ || readers_ > 0) {
    if (wait(lock, wish)) continue;
    --waiting_exclusive_;
    changed_.notify_all();
    return {error_code::TIMED_OUT,
            "other threads of this process did not release the segment before the deadline"};
  }
  --waiting_exclusive_;
  if (copy_ == nullptr) {
    changed_.notify_all();
    return {error_code::NOT_OPEN, "another thread closed the segment meanwhile"};
  }
  exclusive_ = true;
  return {};
}

void Segment::leave_exclusive() {
  exclusive_ = false;
  changed_.notify_all();
}

void Segment::show_access(track::Access access) {
  if (!log_choice().locks || copy_ == nullptr) return;
  const Result shown = copy_->heap().set_access(access);
  if (!shown) report(shown.code, name_ + ": " + shown.text);
}

void Segment::thread_ended(const Hold& hold) {
  if (fork_count_ != platform::fork_count()) return;
  {
    const Lock lock(mutex_);
    if (hold.opening != opening_) return;
  }
  if (hold.writes > 0) {
    report(error_code::NO_LOCK,
           name_ + ": a thread ended with the writer lock; its changes are undone");
    (void)abort_writer();
    return;
  }
  if (Hold* const reading = find_hold(this); reading != nullptr) {
    reading->reads = 1;
    (void)release_reader();
  }
}

}  // namespace iw::abi
