// The writer lock: asking, catching up, release, abort. session/conversation.h says what becomes of
// a grant that comes late, session/release.h what becomes of a release whose answer was lost.
//
// Late grants. A request that times out is cancelled, but the server may have granted it before it
// heard so; that grant is given back. Until then the server answers the process's next request with
// WOULD_DEADLOCK. The invariant: only the owner of the writer slot asks for the lock, and a late
// grant is given back only by that owner or, while the slot is free (and kept so by the role
// returner), by the library's thread. Hence no ABORT_WRITER is sent behind a request that it had to
// precede without the request's sender knowing. session/conversation_orders_test.cc tries all
// orders. Whether a grant is late is decided once, before it is taken in (ServerLink::handle).
//
// Kept grants [LOCK-13..16]. A release may leave the grant here. The next section then begins
// without a message, and ends without one if it changed nothing.
#include "client/log.h"
#include "client/runtime.h"
#include "client/segment.h"
#include "client/waiting.h"
#include "session/frame_writer.h"
#include "session/patience.h"

namespace iw::client {

using platform::now_ns;
using protocol::error_code;
using session::Release;
using Next = Release::Next;
using Attempt = Release::Attempt;

namespace {

// A server is slow to refuse a token that is not valid, so that the last attempt often ends without
// an answer. `refused`: the refusal of an earlier attempt, if there was one.
Result with_refusal(Result unreachable, const Result& refused) {
  if (refused.ok()) return unreachable;
  return Result::of(unreachable.code, [&] {
    return "the server refused this client after the release was sent: " + refused.text;
  });
}

}  // namespace

Result Segment::acquire_writer(const Wish& wish) {
  if (Hold* const hold = find_hold(this); hold != nullptr) {
    if (hold->writes == 0) {
      return {error_code::WOULD_DEADLOCK,
              "this thread holds a reader lock of the segment; release it before asking for the "
              "writer lock"};
    }
    ++hold->writes;
    return {};
  }
  prepare_hold();
  const MutexLock lock(mutex_);
  if (wish_.read_only) {
    return {error_code::READ_ONLY, "the segment was opened read-only; open it for writing"};
  }
  while (!threads_.may_enter(Role::writer) && !talk_.life().is_lost()) {
    // The library's thread is done in a moment, so it is waited for even by who would not wait.
    if (wait({wish.deadline_ns, wish.may_wait || threads_.has(Role::returner)})) continue;
    return {error_code::TIMED_OUT,
            "another thread of this process kept the writer lock beyond the deadline"};
  }
  if (talk_.life().is_lost()) return lost();
  threads_.enter(Role::writer);
  Result result;
  {
    const MutexUnlock asking(mutex_);
    result = types::or_no_memory([&] { return ask_for_writer(wish); });
  }
  if (result) result = begin_writing(wish);
  if (!result) {
    threads_.leave(Role::writer);
    changed_.notify_all();
    if (talk_.has_late_grant()) look_now();
    // Another thread's CLOSE_SEGMENT has ended the question [LOST-4].
    if (talk_.life().is_lost()) return lost();
  }
  return result;
}

// By the slot's owner.
Result Segment::ask_for_writer(const Wish& wish) {
  const auto body = [this, &wish] {
    mutex_.assert_held();
    return session::encoded(
        talk_.writer_question(wish.may_wait ? milliseconds_until(wish.deadline_ns) : 0));
  };
  while (true) {
    {
      const MutexLock lock(mutex_);
      look_for_lost_connection();
      if (talk_.resume_kept(now_ns())) return {};
      const Said returned = give_back_late();
      // Another connection may have taken the place of one that was lost before it was told.
      if (talk_.has_late_grant() && returned != Said::no_memory) continue;
      if (talk_.has_late_grant()) return Result::no_memory();
    }
    Request request;
    request.type = message_type::ACQUIRE_WRITER;
    request.waits_for_others = true;
    if (Result called = converse(request, body, wish.deadline_ns, wish.may_wait); !called) {
      return called;
    }
    Result answered = session::check_answer(request.answer, message_type::WRITER_ACQUIRED);
    const MutexLock lock(mutex_);
    if (!talk_.must_ask_again(answered.code)) return answered;
  }
}

// By the slot's owner, or the library's thread as returner. The mutex is given up meanwhile.
Segment::Said Segment::give_back_late() {
  session::Effects effects;
  talk_.return_late(effects);
  return carry_out(effects);
}

// The server has granted the lock, and a hold is prepared. On failure the lock is given back there.
// The mutex is given up meanwhile.
Result Segment::begin_writing(const Wish& wish) {
  Result result = types::or_no_memory([&] {
    mutex_.assert_held();
    return enter_exclusive(wish);
  });
  if (result) {
    result = types::or_no_memory([&] {
      mutex_.assert_held();
      return write_on_newest(wish);
    });
    if (!result) leave_exclusive();
  }
  if (!result) {
    session::Effects effects;
    talk_.abort(effects);
    talk_.end_writing(effects);
    carry_out(effects);
    return result;
  }
  ++stats_.writer_locks;
  talk_.begin_writing();
  add_hold({this, 0, 1, false, opening_});
  show_access(track::Access::write);
  look_by(talk_.due_ns());
  return {};
}

Result Segment::write_on_newest(const Wish& wish) {
  if (Result newest = become_newest(wish); !newest) return newest;
  const protocol::writer_acquired& granted = talk_.granted();
  const memory::SerialRange serials{granted.first_serial, granted.serial_count};
  const bool is_first = talk_.grant().is_first();
  const MutexUnlock beginning(mutex_);
  return is_first ? copy_->begin_write(serials) : copy_->continue_write();
}

// A writer works on the newest version [COH-9]. The grant's diff mostly is all that is missing; it
// is not if another thread's update came between.
Result Segment::become_newest(const Wish& wish) {
  if (Result applied = apply_staged(wish.deadline_ns); !applied) return applied;
  int questions = 0;
  while (!talk_.is_on_newest(now_ns())) {
    if (++questions > session::most_questions) {
      return Result::malformed("the server granted the writer lock of " + name_ + " on version " +
                               std::to_string(talk_.granted().now.number) +
                               ", and none of its answers led there");
    }
    if (talk_.grant().is_lost()) {
      return {error_code::FENCED,
              "the writer lock was lost before the copy was up to date (its lease ended, or the "
              "server was restarted); ask for it again"};
    }
    // Whatever another thread asks at the same time: it may be waiting for us to be done. Not
    // Strict: that would wait for ourselves.
    if (Result asked = ask(wish, {}, true); !asked) return asked;
    if (Result applied = apply_staged(wish.deadline_ns); !applied) return applied;
  }
  return {};
}

Result Segment::release_writer() {
  Hold* const hold = find_hold(this);
  if (hold == nullptr || hold->writes == 0) {
    return {error_code::NO_LOCK, "this thread does not hold the writer lock of the segment"};
  }
  if (hold->writes > 1) {
    --hold->writes;
    return {};
  }
  bool is_fenced = false;
  Result gone;
  {
    const MutexLock lock(mutex_);
    is_fenced = talk_.grant().is_lost();
    if (talk_.life().is_lost()) gone = lost();
  }
  if (!gone) return roll_back(std::move(gone));
  if (is_fenced) {
    return roll_back(
        {error_code::FENCED,
         {},
         "the writer lock was lost before its release (its lease or hold time ended, or the server "
         "was restarted); the changes were undone"});
  }
  CollectedDiff diff;
  Result collected = types::or_no_memory([&] { return collect_release(diff); });
  if (!collected) return keep_lock(std::move(collected));
  Next next = Next::unsent;
  if (diff.is_empty() && ends_unsaid()) return end_release({}, Next::committed, diff);
  Result answer = send_release(diff, next);
  return end_release(std::move(answer), next, diff);
}

bool Segment::ends_unsaid() {
  const MutexLock lock(mutex_);
  return talk_.may_end_unsaid(now_ns());
}

// Nothing was sent.
Result Segment::keep_lock(Result why) {
  if (Result resumed = copy_->resume(); !resumed) return resumed;
  why.outcome = "nothing was sent and the lock is still held";
  return why;
}

Result Segment::collect_release(CollectedDiff& diff) {
  std::uint64_t base = 0;
  {
    const MutexLock lock(mutex_);
    base = talk_.state().have().number;
  }
  copy::CollectCosts costs;
  HeapResolver resolver(runtime_);
  Result collected = copy_->collect(
      base, resolver, [this] { return ask_for_serials(); }, diff, costs);
  const MutexLock lock(mutex_);
  stats_.faults += costs.pages;
  stats_.compared_bytes += costs.looked_at.compared_bytes;
  stats_.whole_bytes += costs.looked_at.whole_bytes;
  stats_.searched_blocks += diff.outgoing.statistics().searches;
  return collected;
}

// The answer, whatever happens to connections meanwhile: as long as one lives there will be one.
Result Segment::send_release(const CollectedDiff& diff, Next& next) {
  const std::int64_t deadline_ns = wish_for(-1).deadline_ns;
  std::vector<platform::Slice> slices;
  Result tried = types::or_no_memory([&] {
    if (diff.is_empty()) return Result{};
    for (const std::span<const std::byte> one : diff.outgoing.slices()) {
      slices.push_back({one.data(), one.size()});
    }
    return Result{};
  });
  if (!tried) return tried;
  Result refused;
  while (true) {
    Attempt attempt = Attempt::send;
    tried = types::or_no_memory([&] { return try_release(slices, deadline_ns, attempt); });
    const bool is_over = now_ns() >= deadline_ns;
    {
      const MutexLock lock(mutex_);
      next = talk_.release().after(attempt, tried.code, is_over);
    }
    if (next == Next::pause) {
      if (tried.code == error_code::DENIED) refused = std::move(tried);
      sleep_for(scarcity_pause_ns);
    } else if (next != Next::again) {
      if (tried.code != error_code::UNREACHABLE) return tried;
      return with_refusal(std::move(tried), refused);
    }
  }
}

// One attempt. If it throws std::bad_alloc, it was an attempt to send.
Result Segment::try_release(std::span<const platform::Slice> slices, std::int64_t deadline_ns,
                            Attempt& attempt) {
  std::shared_ptr<Live> live;
  number_release();
  if (Result open = live_and_open(deadline_ns, true, live); !open) {
    attempt = Attempt::reach;
    return open;
  }
  Release::Way way = Release::Way::send;
  {
    const MutexLock lock(mutex_);
    way = talk_.release().way(live->session());
  }
  switch (way) {
    case Release::Way::send:
      return send_release_on(live, slices, attempt);
    case Release::Way::resolve: {
      Result resolved = resolve_release(deadline_ns);
      attempt = Attempt::resolve;
      return resolved;
    }
    case Release::Way::none:
      break;
  }
  attempt = Attempt::resolve;
  return {error_code::ROLLED_BACK,
          {},
          "the session ended before the release was sent; the changes were undone: take the lock "
          "and make them again"};
}

void Segment::number_release() {
  ServerLink* link = &home_;
  {
    const MutexLock lock(mutex_);
    if (talk_.release().has_sequence()) return;
    if (live_ != nullptr) link = &live_->link();
  }
  protocol::session_id session{};
  const std::uint64_t sequence = link->next_sequence(session);
  const MutexLock lock(mutex_);
  talk_.release().number(session, sequence, now_ns());
}

Result Segment::send_release_on(const std::shared_ptr<Live>& live,
                                std::span<const platform::Slice> slices, Attempt& attempt) {
  std::uint64_t diff_bytes = 0;
  for (const platform::Slice& slice : slices) diff_bytes += slice.size_bytes;
  Request request;
  request.segment = this;
  request.type = message_type::RELEASE_WRITER;
  request.bulk = slices;
  {
    const MutexLock lock(mutex_);
    request.body = session::encoded(talk_.release_message(diff_bytes));
  }
  Result called = live->link().call(live, request, platform::never_ns);
  {
    const MutexLock lock(mutex_);
    talk_.release().sent(request.was_sent);
    stats_.bytes_sent += request.frame_bytes;
    ++stats_.messages_sent;
    if (diff_bytes > 0) ++stats_.diffs_sent;
    stats_.diff_bytes_sent += diff_bytes;
  }
  if (called.code == error_code::UNREACHABLE || !request.was_sent) return called;
  if (called && request.answer.type() != message_type::WRITER_KEPT) {
    called = session::check_answer(request.answer, message_type::WRITER_RELEASED);
  }
  attempt = Attempt::answered;
  return called;
}

// [LOCK-9]
Result Segment::resolve_release(std::int64_t deadline_ns) {
  Request request;
  request.type = message_type::RESOLVE_RELEASE;
  const auto body = [this] {
    mutex_.assert_held();
    return session::encoded(talk_.resolve_question());
  };
  if (Result called = converse(request, body, deadline_ns, true); !called) return called;
  protocol::release_resolved resolved;
  Result answered =
      session::decode_answer(request.answer, message_type::RELEASE_RESOLVED, resolved);
  if (!answered) return answered;
  if (!resolved.committed) {
    return {error_code::ROLLED_BACK,
            {},
            "the connection was lost during the release, and the changes were not committed; they "
            "were undone: take the lock and make them again"};
  }
  const MutexLock lock(mutex_);
  talk_.resolved(resolved.version, request.answer.sent_ns);
  return {};
}

// Does with the copy what became of the release.
Result Segment::end_release(Result answer, Next next, CollectedDiff& diff) {
  switch (next) {
    case Next::committed:
      // Acknowledged: what the copy could not take over is fetched anew.
      if (const Result committed = copy_->commit(diff); !committed) {
        forget_copy();
        say_if_possible([&] {
          report(committed.code, name_ + ": the copy is fetched anew: " + committed.text);
        });
      }
      leave_writing();
      return {};
    case Next::held:
      if (Result resumed = copy_->resume(); !resumed) return resumed;
      answer.outcome = "the lock is still held: release again or abort";
      return answer;
    case Next::unknown:
      return release_unknown(std::move(answer));
    case Next::rolled_back:
      // No server was reached that could have taken it [CONN-4].
      if (answer.code == error_code::UNREACHABLE || answer.code == error_code::STOPPING) {
        answer.code = error_code::ROLLED_BACK;
        answer.outcome = "the release was not sent, and the changes were undone";
      }
      return roll_back(std::move(answer));
    default:
      return keep_lock(std::move(answer));
  }
}

// Whatever kept it from being learnt, it may have been committed.
Result Segment::release_unknown(Result why) {
  forget_copy();
  if (why.code != error_code::NO_MEMORY) why.code = error_code::UNREACHABLE;
  why.outcome =
      "the release was sent and may have been committed: the copy will be fetched anew, look there";
  return roll_back(std::move(why));
}

void Segment::forget_copy() {
  const MutexLock lock(mutex_);
  talk_.state().forget();
}

Result Segment::roll_back(Result why) {
  const Result undone = copy_->roll_back();
  {
    const MutexLock lock(mutex_);
    ++stats_.aborts;
    if (!undone) talk_.state().forget();
  }
  if (!undone) {
    say_if_possible([&] { report(undone.code, name_ + ": undoing failed: " + undone.text); });
  }
  leave_writing();
  return why;
}

// Reader locks taken under the writer lock stay.
void Segment::leave_writing() {
  Hold* const hold = find_hold(this);
  const bool goes_on_reading = hold->reads > 0;
  hold->writes = 0;
  if (!goes_on_reading) drop_hold(this);
  const MutexLock lock(mutex_);
  session::Effects effects;
  talk_.end_writing(effects);
  show_access(goes_on_reading ? track::Access::read : track::Access::none);
  threads_.leave(Role::writer);
  if (goes_on_reading) {
    threads_.become_reader();
  } else {
    threads_.leave(Role::exclusive);
  }
  changed_.notify_all();
  carry_out(effects);
  look_by(talk_.due_ns());
}

Result Segment::drop_writer() {
  if (const Hold* const hold = find_hold(this); hold != nullptr && hold->writes > 0) {
    say_if_possible([this] {
      if (!copy_->has_changes()) return;
      report(error_code::NO_LOCK, name_ +
                                      ": a writer lock ended without a release, and its changes "
                                      "are undone; release it, or abort it to undo them");
    });
  }
  return abort_writer();
}

Result Segment::abort_writer() {
  Hold* const hold = find_hold(this);
  if (hold == nullptr || hold->writes == 0) {
    return {error_code::NO_LOCK, "this thread does not hold the writer lock of the segment"};
  }
  {
    const MutexLock lock(mutex_);
    session::Effects effects;
    talk_.abort(effects);
    carry_out(effects);  // before another thread of this process may ask again
  }
  return roll_back({});
}

}  // namespace iw::client
