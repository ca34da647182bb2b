// Opening, closing and reopening: what session/opening.h decides is done here [OPEN-1..3]. And what
// becomes of a segment whose server came back without it [LOST-1..6].
#include <algorithm>

#include "client/log.h"
#include "client/runtime.h"
#include "client/segment.h"
#include "client/waiting.h"
#include "copy/optimisations.h"
#include "session/frame_writer.h"

namespace iw::client {

using platform::now_ns;
using protocol::error_code;
using session::Opening;

// ---- opening ----

Result Segment::open(const OpenWish& wish) {
  if (const Result& good = copy::check_optimisations(); !good) return good;
  std::shared_ptr<Live> live;
  return reach({Purpose::open, wish}, deadline_after(wish.timeout_s), false, live);
}

Result Segment::open_for_pointers(std::int64_t deadline_ns) {
  {
    const MutexLock lock(mutex_);
    if (life_.users() > 0) return {};
  }
  OpenWish wish;
  wish.create = false;
  std::shared_ptr<Live> live;
  return reach({Purpose::pointers, wish}, deadline_ns, false, live);
}

Result Segment::live_and_open(std::int64_t deadline_ns, bool keep_trying,
                              std::shared_ptr<Live>& out) {
  return reach({Purpose::use, {}}, deadline_ns, keep_trying, out);
}

Result Segment::reach(const Caller& caller, std::int64_t deadline_ns, bool keep_trying,
                      std::shared_ptr<Live>& out) {
  while (true) {
    const std::shared_ptr<Live> before = link_.current();
    if (Result result = link_.connected(deadline_ns, keep_trying, out); !result) return result;
    // One that was there already may have died unseen: then a new one is tried in any case.
    const bool may_be_dead = out == before;
    const Result opened = open_on(out, caller, deadline_ns);
    const bool is_retried = out->is_lost() && (keep_trying || may_be_dead);
    if (!opened.ok() && is_retried && !is_lost() && now_ns() < deadline_ns) continue;
    const bool lacked_memory = opened.code == error_code::UNREACHABLE && out->lacked_memory();
    return lacked_memory ? Result::no_memory() : opened;
  }
}

Result Segment::open_on(const std::shared_ptr<Live>& live, const Caller& caller,
                        std::int64_t deadline_ns) {
  const MutexLock lock(mutex_);
  while (true) {
    look_for_lost_connection();
    switch (caller.purpose == Purpose::use ? life_.use(live->number())
                                           : life_.open(live->number())) {
      case Opening::Step::ready:
        return take_part(caller);
      case Opening::Step::wait:
        if (wait({deadline_ns})) continue;
        return {error_code::TIMED_OUT,
                "the server has not answered another thread that opens or closes the segment "
                "before the deadline"};
      case Opening::Step::send: {
        if (is_first_to_say_how(caller)) adopt(caller.wish);
        Result opened = types::or_no_memory([&] {
          mutex_.assert_held();
          return open_on_server(live, deadline_ns);
        });
        if (life_.stage() == Opening::Stage::opening) life_.refused();  // memory ended in it
        changed_.notify_all();
        if (!opened) return opened;
        continue;
      }
      case Opening::Step::not_open:
        return {error_code::NOT_OPEN, "another thread closed the segment meanwhile"};
      case Opening::Step::lost:
        return lost();
    }
  }
}

// Those who open it say how. Pointers that led here wanted it as it is, so they say so only if
// nobody wanted it before.
bool Segment::is_first_to_say_how(const Caller& caller) const {
  switch (caller.purpose) {
    case Purpose::open:
      return life_.users() == 0;
    case Purpose::pointers:
      return !life_.is_wanted();
    default:
      return false;
  }
}

void Segment::adopt(const OpenWish& wish) {
  if (copy_ != nullptr && copy_->heap().is_read_only() != wish.read_only) copy_.reset();
  wish_ = wish;
  timeout_s_.store(wish.timeout_s, std::memory_order_relaxed);
  is_removed_ = false;
}

// It is open at the server, and stays so for this caller.
Result Segment::take_part(const Caller& caller) {
  if (caller.purpose == Purpose::use) return {};
  const bool is_first = life_.users() == 0;
  if (caller.purpose == Purpose::open) {
    if (is_first) adopt(caller.wish);
    if (!is_first && wish_.read_only && !caller.wish.read_only) {
      return {error_code::READ_ONLY, "it is open here read-only already; close it first"};
    }
  }
  Result made = types::or_no_memory([this] {
    mutex_.assert_held();
    return make_copy();
  });
  if (!made) {
    if (life_.end_unwanted()) tell_closed();
    if (is_opened_late_) runtime_.wake();
    return made;
  }
  if (caller.purpose == Purpose::pointers) {
    life_.pointed_at();
    return {};
  }
  life_.joined();
  // From now on a lost segment is made anew only if this program would have made it.
  if (is_first) ++opening_;
  is_usable_ = true;
  return {};
}

Result Segment::make_copy() {
  if (copy_ != nullptr) return {};
  state_.clear();
  Result made = Copy::create(url_, wish_.read_only, copy_);
  if (made) show_access(track::Access::none);
  return made;
}

// By the one thread that opens it. The mutex is given up meanwhile.
Result Segment::open_on_server(const std::shared_ptr<Live>& live, std::int64_t deadline_ns) {
  protocol::open_segment wanted;
  wanted.path = url_.path;
  // What the copy has would be missing in a segment that is made now [LOST-1].
  wanted.create = wish_.create && !has_content();
  wanted.read_only = wish_.read_only;
  wanted.durable = wish_.durable;
  wanted.quota_bytes = wish_.quota_bytes;
  Request request;
  protocol::segment_opened opened;
  Result answered;
  Result heard;
  {
    const MutexUnlock talking(mutex_);
    request.segment = this;
    request.type = message_type::OPEN_SEGMENT;
    request.body = session::encoded(wanted);
    answered = link_.call(live, request, deadline_ns);
    if (answered) {
      answered = session::decode_answer(request.answer, message_type::SEGMENT_OPENED, opened);
    }
    // Before anything can be subscribed to.
    if (answered) {
      heard = types::or_no_memory([&] {
        link_.listen(live, opened.segment, *this);
        return Result{};
      });
    }
  }
  stats_.bytes_sent += request.frame_bytes;
  ++stats_.messages_sent;
  if (!heard) {
    life_.refused();
    opened_unwanted(live->number(), opened.segment);
    return heard;
  }
  const bool is_gone = answered.code == error_code::NO_SEGMENT && has_content();
  if (is_gone || (answered && lacks_content(opened.newest))) {
    if (answered) {
      const MutexUnlock talking(mutex_);
      link_.unlisten(live, opened.segment, *this);
    }
    vanish(is_gone ? "the server has no such segment any more"
                   : "the server came back with version " + std::to_string(opened.newest.number) +
                         ", and this process has version " + std::to_string(state_.have().number));
    return lost();
  }
  if (!answered) {
    life_.refused();
    return answered;
  }
  opened_on(live, opened, request.answer.sent_ns);
  return {};
}

// The server has it open on that connection, and nobody here knows of it.
void Segment::opened_unwanted(session::ConnectionNumber on, std::uint32_t number) {
  const bool is_to_be_closed = life_.opened_late(on);
  if (life_.connection() == on) number_ = number;
  if (!is_to_be_closed) return;
  is_opened_late_ = true;
  runtime_.wake();
}

void Segment::opened_on(const std::shared_ptr<Live>& live, const protocol::segment_opened& opened,
                        std::int64_t sent_ns) {
  live_ = live;
  number_ = opened.segment;
  quota_bytes_ = opened.quota_bytes;
  life_.opened(live->number());
  if (!live->is_resumed() && grant_.is_held()) grant_.lost(grant_.fence());
  state_.newest_is(opened.newest, sent_ns);
  look_for_lost_connection();  // who lost it may have looked for its segments before
  runtime_.wake();
}

// ---- lost connections ----

void Segment::look_for_lost_connection() {
  if (live_ != nullptr && live_->is_lost()) leave_connection(live_->number());
}

void Segment::leave_connection(session::ConnectionNumber gone) {
  if (!life_.connection_lost(gone)) return;
  state_.connection_lost();
  grant_.connection_lost();
  subscription_.settled();
  runtime_.wake();
}

void Segment::connection_lost(session::ConnectionNumber gone) noexcept {
  const MutexLock lock(mutex_);
  leave_connection(gone);
  changed_.notify_all();
}

bool Segment::wants_connection() {
  const MutexLock lock(mutex_);
  const bool is_heard = change_fn_ != nullptr || connection_fn_ != nullptr;
  return is_heard && life_.stage() == Opening::Stage::away && !is_removed_;
}

Result Segment::reconnect(std::int64_t deadline_ns) {
  std::shared_ptr<Live> live;
  return live_and_open(deadline_ns, false, live);
}

// ---- loss ----

bool Segment::has_content() const {
  return copy_ != nullptr && state_.has_copy() && state_.have().number > 0;
}

// [LOST-1]
bool Segment::lacks_content(const protocol::version_stamp& newest) const {
  return has_content() && newest.number < state_.have().number;
}

Result Segment::lost() const {
  return Result::of(error_code::SEGMENT_LOST, [this] {
    mutex_.assert_held();
    return lost_why_ +
           "; close the segment and open it again: what this process had of it can be "
           "read until then";
  });
}

void Segment::vanish(std::string why) {
  if (life_.is_lost()) return;
  lost_why_ = std::move(why);
  life_.vanished();
  is_lost_ = true;
  if (grant_.is_held()) grant_.lost(grant_.fence());
  state_.drop_staged();
  state_.unsubscribed();
  if (change_fn_ != nullptr) change_due_ns_ = now_ns();
  changed_.notify_all();
  runtime_.wake();
}

// By the thread that applied an update. The mutex is given up meanwhile. The server still counts
// the segment as open on this connection.
void Segment::give_up_lost(std::string why) {
  if (state_.subscription().has_value()) unsubscribe();
  vanish(std::move(why));
  const std::shared_ptr<Live> live = live_;
  const std::uint32_t number = number_;
  const MutexUnlock talking(mutex_);
  if (live != nullptr) link_.unlisten(live, number, *this);
}

// ---- closing ----

Result Segment::close() {
  const Wish wish = wish_for(-1);
  const MutexLock lock(mutex_);
  while (true) {
    Opening::Close closed = life_.close();
    if (closed == Opening::Close::last) {
      give_up_holds();
      if (Result alone = enter_exclusive(wish); !alone) return why_not_closed(alone);
      closed = life_.end();
      if (closed == Opening::Close::last) break;
      leave_exclusive();
    }
    switch (closed) {
      case Opening::Close::counted:
        return {};
      case Opening::Close::not_open:
        return {error_code::NOT_OPEN, "the segment was closed as often as it was opened"};
      default:
        if (!wait(wish)) {
          return {error_code::TIMED_OUT,
                  "another thread opens the segment on a new connection and the server has not "
                  "answered; it is still open"};
        }
    }
  }
  drop_copy();
  tell_closed();
  if (is_opened_late_) runtime_.wake();
  leave_exclusive();
  wait_for_callback();
  return {};
}

Segment::Need Segment::need() const {
  if (!mutex_.try_lock()) return Need::unknown;
  const MutexLock lock(mutex_, std::adopt_lock);
  if (life_.is_wanted() || life_.stage() == Opening::Stage::opening) return Need::some;
  const bool is_over = life_.stage() == Opening::Stage::shut || life_.is_lost();
  return is_over && !life_.must_tell() ? Need::none : Need::unknown;
}

Result Segment::why_not_closed(const Result& alone) {
  if (alone.code != error_code::TIMED_OUT) return alone;
  return {error_code::TIMED_OUT,
          "other threads hold locks of the segment, which stays open; release them first"};
}

// What the thread that closes holds itself. The mutex is given up meanwhile.
void Segment::give_up_holds() {
  const MutexUnlock releasing(mutex_);
  if (const Hold* hold = find_hold(this); hold != nullptr && hold->writes > 0) {
    (void)abort_writer();
  }
  if (Hold* const reading = find_hold(this); reading != nullptr) {
    reading->reads = 1;
    (void)release_reader();
  }
}

// By the thread that is exclusive, for good. The mutex is given up meanwhile.
void Segment::drop_copy() {
  is_usable_ = false;
  {
    const MutexUnlock undoing(mutex_);
    undo_strays();
  }
  copy_.reset();
  change_fn_ = nullptr;
  change_due_ns_ = platform::never_ns;
  connection_fn_ = nullptr;
  recent_fn_ = nullptr;
  bound_ = {};
  state_.clear();
  subscription_ = session::Subscription{};
  has_unreachable_ = false;
  stats_ = {};
}

// CLOSE_SEGMENT is on its way when this returns, so that another OPEN_SEGMENT follows it [OPEN-2];
// or, for lack of memory, others wait until the library's thread has sent it. The mutex is given up
// meanwhile.
void Segment::tell_closed() {
  while (life_.must_tell()) {
    const session::ConnectionNumber on = life_.connection();
    const std::uint32_t number = number_;
    Result posted;
    {
      const MutexUnlock talking(mutex_);
      const std::shared_ptr<Live> live = link_.current();
      if (live != nullptr && live->number() == on) {
        link_.unlisten(live, number, *this);
        posted = types::or_no_memory([&] {
          Request request;
          request.type = message_type::CLOSE_SEGMENT;
          request.body = session::encoded(protocol::close_segment{number});
          return link_.post(live, request);
        });
      }
    }
    if (posted.code == error_code::NO_MEMORY) {
      is_opened_late_ = true;
      return;
    }
    life_.told(on);
  }
  live_ = nullptr;
  life_.ended();
  changed_.notify_all();
}

}  // namespace iw::client
