// The writer lock: asking, catching up, release, abort, and what became of a release whose answer
// was lost.
//
// Late grants. A request that times out is cancelled, but the server may have granted it before it
// heard so; that grant (late_fence_) is given back. Until then the server answers the process's
// next request with WOULD_DEADLOCK. The invariant: only the owner of the writer slot asks for the
// lock, and a late grant is given back only by that owner or, while the slot is free (and kept so
// by the role returner), by the library's thread. Hence no ABORT_WRITER is sent behind a request
// that it had to precede without the request's sender knowing:
//   - The grant is read before the next request is sent: its sender gives it back first, or has
//     waited until the library's thread had done so.
//   - It is read later: then it comes before the answer to that request, WOULD_DEADLOCK, so that
//     whoever gets this answer sees the late grant, gives it back and asks again.
//   - The next request times out, too: its sender frees the slot and wakes the library's thread.
//   - The connection is lost: the server gives the lock to the same session's next request on
//     another connection [SES-2]; an ABORT_WRITER of an old fence does nothing.
// Whether a grant is late is decided once, before it is taken in (Link::handle).
#include "client/log.h"
#include "client/runtime.h"
#include "client/segment.h"
#include "client/waiting.h"
#include "session/frame_writer.h"

namespace iw::client {

using platform::now_ns;
using protocol::error_code;

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
  while (!threads_.may_enter(Role::writer) && !life_.is_lost()) {
    // The library's thread is done in a moment, so it is waited for even by who would not wait.
    if (wait({wish.deadline_ns, wish.may_wait || threads_.has(Role::returner)})) continue;
    return {error_code::TIMED_OUT,
            "another thread of this process kept the writer lock beyond the deadline"};
  }
  if (life_.is_lost()) return lost();
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
    if (late_fence_ != 0) runtime_.wake();
  }
  return result;
}

// By the slot's owner.
Result Segment::ask_for_writer(const Wish& wish) {
  const auto body = [this, &wish](std::uint32_t number) {
    mutex_.assert_held();
    const std::uint32_t deadline_ms = wish.may_wait ? milliseconds_until(wish.deadline_ns) : 0;
    return session::encoded(protocol::acquire_writer{number, state_.reach(), deadline_ms});
  };
  while (true) {
    {
      const MutexLock lock(mutex_);
      if (Result given = give_back_late(); given.code == error_code::NO_MEMORY) return given;
    }
    Request request;
    request.type = message_type::ACQUIRE_WRITER;
    request.waits_for_others = true;
    if (Result called = converse(request, body, wish.deadline_ns, wish.may_wait); !called) {
      return called;
    }
    Result answered = session::check_answer(request.answer, message_type::WRITER_ACQUIRED);
    const MutexLock lock(mutex_);
    if (answered.code != error_code::WOULD_DEADLOCK || late_fence_ == 0) return answered;
  }
}

// By the slot's owner, or the library's thread as returner. The mutex is given up
// meanwhile. NO_MEMORY: it is still to be given back.
Result Segment::give_back_late() {
  const std::uint64_t fence = std::exchange(late_fence_, 0);
  if (fence == 0) return {};
  const MutexUnlock talking(mutex_);
  return abort_on_server(fence);
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
    const std::uint64_t fence = grant_.fence();
    grant_.given_back();
    const MutexUnlock talking(mutex_);
    (void)abort_on_server(fence);
    return result;
  }
  ++stats_.writer_locks;
  serials_asked_ = granted_.serial_count;
  release_sequence_ = 0;
  release_was_sent_ = false;
  add_hold({this, 0, 1, false, opening_});
  show_access(track::Access::write);
  // The library's thread looks at its timers once a heartbeat; is that soon enough for the lease?
  if (live_ == nullptr || grant_.renewal_due_ns() < now_ns() + live_->heartbeat_ns()) {
    runtime_.wake();
  }
  return {};
}

Result Segment::write_on_newest(const Wish& wish) {
  if (Result newest = become_newest(wish); !newest) return newest;
  const memory::SerialRange serials{granted_.first_serial, granted_.serial_count};
  const MutexUnlock beginning(mutex_);
  return copy_->begin_write(serials);
}

// A writer works on the newest version [COH-9]. The grant's diff mostly is all that is missing; it
// is not if another thread's update came between.
Result Segment::become_newest(const Wish& wish) {
  if (Result applied = apply_staged(wish.deadline_ns); !applied) return applied;
  while (state_.have() != granted_.now) {
    if (!state_.has_copy() && granted_.now.number == 0) {
      state_.up_to_date(granted_.now, now_ns());
      continue;
    }
    // Whatever another thread asks at the same time: it may be waiting for us to be done. Not
    // Strict: that would wait for ourselves.
    if (Result asked = ask(wish, {}, true); !asked) return asked;
    if (Result applied = apply_staged(wish.deadline_ns); !applied) return applied;
  }
  return {};
}

// Without memory to say so the lock is as one that was granted late: given back by the slot's next
// owner or the library's thread.
Result Segment::abort_on_server(std::uint64_t fence) {
  Result posted = post(message_type::ABORT_WRITER, [fence](std::uint32_t number) {
    return session::encoded(protocol::abort_writer{number, fence});
  });
  if (posted.code == error_code::NO_MEMORY) {
    const MutexLock lock(mutex_);
    late_fence_ = fence;
  }
  return posted;
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
    is_fenced = grant_.is_lost();
    if (life_.is_lost()) gone = lost();
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
  bool is_settled = false;
  Result answer = send_release(diff, is_settled);
  return is_settled ? release_answered(std::move(answer), diff)
                    : release_without_memory(std::move(answer));
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
    base = state_.have().number;
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

// Whether this, said after a release was sent, tells what became of it: it was committed or not, or
// it does not matter because the segment is gone, or the server says that it cannot be known
// [LOCK-9]. Everything else (a server that stops, or refuses to talk) may be otherwise later.
bool Segment::is_outcome(error_code code) {
  switch (code) {
    case error_code::OK:
    case error_code::ROLLED_BACK:
    case error_code::UNREACHABLE:
    case error_code::SEGMENT_LOST:
    case error_code::NO_SEGMENT:
    case error_code::REMOVED:
    case error_code::NOT_OPEN:
      return true;
    default:
      return false;
  }
}

// What is said once no server can be reached any more [CONN-4].
Result Segment::release_unanswered(Result why) const {
  if (why.code != error_code::UNREACHABLE || release_was_sent_) return why;
  why.code = error_code::ROLLED_BACK;
  why.outcome = "the release was not sent, and the changes were undone";
  return why;
}

// The answer, whatever happens to connections meanwhile: as long as one lives there will be one.
// Unless `is_settled`, NO_MEMORY: it was not sent, or, if it was, there was no memory until the
// deadline to learn what became of it.
Result Segment::send_release(const CollectedDiff& diff, bool& is_settled) {
  const std::int64_t deadline_ns = wish_for(-1).deadline_ns;
  std::vector<platform::Slice> slices;
  Result tried = types::or_no_memory([&] {
    if (diff.is_empty()) return Result{};
    for (const std::span<const std::byte> one : diff.outgoing.slices()) {
      slices.push_back({one.data(), one.size()});
    }
    return Result{};
  });
  while (tried.ok()) {
    tried = types::or_no_memory([&] { return try_release(slices, deadline_ns, is_settled); });
    if (is_settled) return tried;
    const bool is_over = now_ns() >= deadline_ns;
    if (tried.code == error_code::NO_MEMORY) {
      if (is_over || !release_was_sent_) return tried;
      sleep_for(scarcity_pause_ns);
    } else if (is_over) {
      is_settled = true;
      // Whatever kept it from being learnt, it may have been committed.
      if (release_was_sent_) tried.code = error_code::UNREACHABLE;
      return release_unanswered(std::move(tried));
    } else if (tried.code != error_code::UNREACHABLE) {
      sleep_for(scarcity_pause_ns);
    }
    tried = {};
  }
  return tried;
}

// `is_settled`: the result is what became of the release. Otherwise it may be tried again.
Result Segment::try_release(std::span<const platform::Slice> slices, std::int64_t deadline_ns,
                            bool& is_settled) {
  if (release_sequence_ == 0) release_sequence_ = link_.next_sequence(release_session_);
  std::shared_ptr<Live> live;
  if (Result open = live_and_open(deadline_ns, true, live); !open) {
    is_settled = release_was_sent_ ? is_outcome(open.code) : open.code != error_code::NO_MEMORY;
    return release_unanswered(std::move(open));
  }
  // Another session cannot repeat the release: it can only ask what became of it.
  if (link_.session() != release_session_) {
    Result resolved =
        release_was_sent_
            ? resolve_release(deadline_ns)
            : Result{error_code::ROLLED_BACK,
                     {},
                     "the session ended before the release was sent; the changes were "
                     "undone: take the lock and make them again"};
    is_settled = is_outcome(resolved.code);
    return resolved;
  }
  std::uint64_t diff_bytes = 0;
  for (const platform::Slice& slice : slices) diff_bytes += slice.size_bytes;
  Request request;
  request.segment = this;
  request.type = message_type::RELEASE_WRITER;
  request.bulk = slices;
  {
    const MutexLock lock(mutex_);
    const protocol::release_part part{number_, grant_.fence(), state_.have(), diff_bytes};
    request.body = session::encoded(protocol::release_writer{release_sequence_, {part}});
  }
  Result called = link_.call(live, request, platform::never_ns);
  release_was_sent_ = release_was_sent_ || request.was_sent;
  {
    const MutexLock lock(mutex_);
    stats_.bytes_sent += request.frame_bytes;
    ++stats_.messages_sent;
    if (diff_bytes > 0) ++stats_.diffs_sent;
    stats_.diff_bytes_sent += diff_bytes;
  }
  if (called.code == error_code::UNREACHABLE) return called;
  if (called) called = session::check_answer(request.answer, message_type::WRITER_RELEASED);
  // A server that stops may have logged it: the next one knows [LOCK-8].
  is_settled = called.code != error_code::STOPPING;
  return called;
}

// [LOCK-9]
Result Segment::resolve_release(std::int64_t deadline_ns) {
  Request request;
  request.type = message_type::RESOLVE_RELEASE;
  const auto body = [this](std::uint32_t number) {
    return session::encoded(protocol::resolve_release{number, release_session_, release_sequence_});
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
  state_.released(resolved.version, request.answer.sent_ns);
  return {};
}

Result Segment::release_answered(Result answer, CollectedDiff& diff) {
  switch (answer.code) {
    case error_code::OK: {
      // Acknowledged: what the copy could not take over is fetched anew.
      if (const Result committed = copy_->commit(diff); !committed) {
        forget_copy();
        say_if_possible([&] {
          report(committed.code, name_ + ": the copy is fetched anew: " + committed.text);
        });
      }
      leave_writing();
      return {};
    }
    case error_code::STORE_FULL:
    case error_code::TIMED_OUT:
      if (Result resumed = copy_->resume(); !resumed) return resumed;
      answer.outcome = "the lock is still held: release again or abort";
      return answer;
    case error_code::UNREACHABLE:
      return release_unknown(std::move(answer));
    default:
      return roll_back(std::move(answer));
  }
}

Result Segment::release_without_memory(Result why) {
  return release_was_sent_ ? release_unknown(std::move(why)) : keep_lock(std::move(why));
}

Result Segment::release_unknown(Result why) {
  forget_copy();
  why.outcome =
      "the release was sent and may have been committed: the copy will be fetched anew, look there";
  return roll_back(std::move(why));
}

void Segment::forget_copy() {
  const MutexLock lock(mutex_);
  state_.forget();
}

Result Segment::roll_back(Result why) {
  const Result undone = copy_->roll_back();
  {
    const MutexLock lock(mutex_);
    ++stats_.aborts;
    if (!undone) state_.forget();
  }
  if (!undone) {
    say_if_possible([&] { report(undone.code, name_ + ": undoing failed: " + undone.text); });
  }
  leave_writing();
  return why;
}

// Reader locks taken under the writer lock go on alone.
void Segment::leave_writing() {
  Hold* const hold = find_hold(this);
  const bool goes_on_reading = hold->reads > 0;
  hold->writes = 0;
  if (!goes_on_reading) drop_hold(this);
  const MutexLock lock(mutex_);
  grant_.given_back();
  show_access(goes_on_reading ? track::Access::read : track::Access::none);
  threads_.leave(Role::writer);
  if (late_fence_ != 0) runtime_.wake();
  if (goes_on_reading) {
    threads_.become_reader();
  } else {
    threads_.leave(Role::exclusive);
  }
  changed_.notify_all();
}

Result Segment::abort_writer() {
  Hold* const hold = find_hold(this);
  if (hold == nullptr || hold->writes == 0) {
    return {error_code::NO_LOCK, "this thread does not hold the writer lock of the segment"};
  }
  std::uint64_t fence = 0;
  {
    const MutexLock lock(mutex_);
    fence = grant_.fence();
  }
  (void)abort_on_server(fence);  // before another thread of this process may ask again
  return roll_back({});
}

}  // namespace iw::client
