// Opening, closing and reopening: what session/opening.h decides is done here [OPEN-1..3]. And what
// becomes of a segment whose server came back without it [LOST-1..6].
#include <algorithm>

#include "client/log.h"
#include "client/runtime.h"
#include "client/segment.h"
#include "client/waiting.h"
#include "copy/optimisations.h"
#include "platform/clock.h"
#include "session/frame_writer.h"
#include "track/tracker.h"

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
    if (talk_.life().users() > 0) return {};
  }
  OpenWish wish;
  wish.create = false;
  std::shared_ptr<Live> live;
  return reach({Purpose::pointers, wish}, deadline_ns, false, live);
}

Result Segment::open_on(std::shared_ptr<Live>& live, const Caller& caller, std::int64_t deadline_ns,
                        protocol::redirect_field& to) {
  const MutexLock lock(mutex_);
  while (true) {
    look_for_lost_connection();
    Opening& life = talk_.life();
    // Another thread may have opened it on the next connection meanwhile: this one opens nothing.
    const bool is_open_there = live_ != nullptr && live_->number() == life.connection();
    if (life.is_open() && is_open_there) live = live_;
    if (live->is_lost() && life.is_wanted() && !life.is_lost()) {
      return live->link().why_lost(*live);
    }
    switch (caller.purpose == Purpose::use ? life.use(live->number()) : life.open(live->number())) {
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
          return open_on_server(live, deadline_ns, to);
        });
        if (life.stage() == Opening::Stage::opening) life.refused();  // memory ended in it
        changed_.notify_all();
        if (opened) continue;
        look_now();  // those who listen may want another connection
        return opened;
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
      return talk_.life().users() == 0;
    case Purpose::pointers:
      return !talk_.life().is_wanted();
    default:
      return false;
  }
}

void Segment::adopt(const OpenWish& wish) {
  if (copy_ != nullptr && copy_->heap().is_read_only() != wish.read_only) {
    copy_.reset();
    talk_.state().clear();
  }
  wish_ = wish;
  timeout_s_.store(wish.timeout_s, std::memory_order_relaxed);
}

// It is open at the server, and stays so for this caller.
Result Segment::take_part(const Caller& caller) {
  if (caller.purpose == Purpose::use) return {};
  Opening& life = talk_.life();
  const bool is_first = life.users() == 0;
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
    if (life.end_unwanted()) tell_closed();
    return made;
  }
  if (caller.purpose == Purpose::pointers) {
    life.pointed_at();
    return {};
  }
  life.joined();
  // From now on a lost segment is made anew only if this program would have made it.
  if (is_first) ++opening_;
  is_usable_ = true;
  return {};
}

Result Segment::make_copy() {
  if (copy_ != nullptr) return {};
  talk_.state().clear();
  // Without measured prices others serve.
  if (!wish_.read_only) (void)track::measure_recommended(&platform::now_ns);
  Result made = Copy::create(url_, wish_.read_only, copy_);
  if (made) show_access(track::Access::none);
  return made;
}

// By the one thread that opens it. The mutex is given up meanwhile.
Result Segment::open_on_server(const std::shared_ptr<Live>& live, std::int64_t deadline_ns,
                               protocol::redirect_field& to) {
  protocol::open_segment wanted;
  wanted.path = url_.path;
  // A segment that is made now would lack the blocks of the copy [LOST-1].
  wanted.create = wish_.create && !talk_.has_content();
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
    answered = live->link().call(live, request, deadline_ns);
    if (answered) {
      answered = session::decode_answer(request.answer, message_type::SEGMENT_OPENED, opened);
    }
    if (answered.code == error_code::REDIRECTED && !session::sends_on(request.answer, to)) to = {};
    // Before anything can be subscribed to.
    if (answered) {
      heard = types::or_no_memory([&] {
        live->link().listen(live, opened.segment, *this);
        return Result{};
      });
    }
  }
  stats_.bytes_sent += request.frame_bytes;
  ++stats_.messages_sent;
  if (!heard) {
    talk_.life().refused();
    session::Effects effects;
    talk_.opened_in_vain(live->number(), opened.segment, effects);
    carry_out(effects);
    return heard;
  }
  Result outcome = opened_on(
      live, {live->number(), answered.code, opened, request.answer.sent_ns, live->session()});
  return outcome.ok() ? answered : outcome;
}

// SEGMENT_LOST if the server lacks what the copy has, or another thread found this meanwhile.
Result Segment::opened_on(const std::shared_ptr<Live>& live,
                          const session::Conversation::OpenAnswer& answer) {
  using Opened = session::Conversation::Opened;
  session::Effects effects;
  const Opened opened = talk_.opened(answer, now_ns(), effects);
  if (opened == Opened::open) {
    live_ = live;
    moved_.reset();
    const bool is_named = live->link().sent_on().by.empty();
    last_ = is_named ? named_place(live->link()) : Place{&live->link(), live->space_id()};
    quota_bytes_ = answer.opened.quota_bytes;
  }
  if (opened == Opened::gone) {
    note_loss([] { return "the server has no such segment any more"; });
  }
  if (opened == Opened::older) {
    note_loss([this, &answer] {
      mutex_.assert_held();
      return "the server came back with version " + std::to_string(answer.opened.newest.number) +
             ", and this process has version " + std::to_string(talk_.state().have().number);
    });
  }
  carry_out(effects);
  look_for_lost_connection();  // its segments may have been told before
  if (!talk_.life().is_lost()) return {};
  if (answer.code == error_code::OK) {
    const MutexUnlock talking(mutex_);
    live->link().unlisten(live, answer.opened.segment, *this);
  }
  return lost();
}

// ---- lost connections ----

void Segment::look_for_lost_connection() {
  if (live_ == nullptr || !live_->is_lost()) return;
  session::Effects effects;
  talk_.connection_lost(live_->number(), effects);
  carry_out(effects);
}

void Segment::connection_lost(session::ConnectionNumber gone) noexcept {
  const MutexLock lock(mutex_);
  session::Effects effects;
  talk_.connection_lost(gone, effects);
  carry_out(effects);
  changed_.notify_all();
}

bool Segment::wants_connection() {
  const MutexLock lock(mutex_);
  const bool is_heard = change_fn_ != nullptr || connection_fn_ != nullptr;
  return is_heard && talk_.life().stage() == Opening::Stage::away;
}

Result Segment::reconnect(std::int64_t deadline_ns) {
  std::shared_ptr<Live> live;
  return live_and_open(deadline_ns, false, live);
}

// ---- loss ----

Result Segment::lost() const {
  if (talk_.is_removed()) {
    return {error_code::REMOVED, "the segment was removed; open it again to make it anew"};
  }
  return Result::of(error_code::SEGMENT_LOST, [this] {
    mutex_.assert_held();
    return lost_why_ +
           "; close the segment and open it again: what this process had of it can be "
           "read until then";
  });
}

// Without memory for the reason only the reason is lost.
template <typename MakeText>
void Segment::note_loss(MakeText&& make_text) {
  lost_why_ = Result::of(error_code::SEGMENT_LOST, std::forward<MakeText>(make_text)).text;
}

// By the thread that applied an update. The mutex is given up meanwhile. The server has the segment
// open, and perhaps granted a lock with the update: CLOSE_SEGMENT ends both.
void Segment::give_up_lost(std::string why) {
  if (!talk_.life().is_lost()) note_loss([&why] { return std::move(why); });
  session::Effects effects;
  talk_.vanish(now_ns(), effects);
  carry_out(effects);
}

// ---- closing ----

Result Segment::close() {
  const Wish wish = wish_for(-1);
  const MutexLock lock(mutex_);
  while (true) {
    Opening::Close closed = talk_.life().close();
    if (closed == Opening::Close::last) {
      give_up_holds();
      if (Result alone = enter_exclusive(wish); !alone) return why_not_closed(alone);
      closed = talk_.life().end();
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
  leave_exclusive();
  wait_for_callback();
  return {};
}

Segment::Need Segment::need() const {
  if (!mutex_.try_lock()) return Need::unknown;
  const MutexLock lock(mutex_, std::adopt_lock);
  const Opening& life = talk_.life();
  if (life.is_wanted() || life.stage() == Opening::Stage::opening) return Need::some;
  const bool is_over = life.stage() == Opening::Stage::shut || life.is_lost();
  return is_over && !life.must_tell() ? Need::none : Need::unknown;
}

Result Segment::why_not_closed(const Result& alone) {
  if (alone.code != error_code::TIMED_OUT) return alone;
  return {error_code::TIMED_OUT,
          "other threads hold locks of the segment, which stays open; release them first"};
}

// Ends the locks of the thread that closes. The mutex is given up meanwhile.
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
  connection_fn_ = nullptr;
  recent_fn_ = nullptr;
  last_ = named_place(home_);
  moved_.reset();
  talk_.clear();
  has_unreachable_ = false;
  stats_ = {};
}

// CLOSE_SEGMENT is on its way when this returns, so that another OPEN_SEGMENT follows it [OPEN-2].
// If memory lacks, or another thread's message is not yet said(), others wait until the library's
// thread has sent it. The mutex is given up meanwhile.
void Segment::tell_closed() {
  session::Effects effects;
  talk_.close(effects);
  carry_out(effects);
  if (!talk_.must_close()) live_ = nullptr;
}

}  // namespace iw::client
