// What the server says about the segment, taken in on the reading thread in the order of arrival;
// and what is said to the server by the library's thread.
#include <algorithm>

#include "client/log.h"
#include "client/runtime.h"
#include "client/segment.h"
#include "client/waiting.h"
#include "diff/format.h"
#include "diff/varint.h"
#include "session/frame_writer.h"

namespace iw::client {

using coherence::Model;
using platform::now_ns;
using protocol::error_code;

namespace {

// How many bytes of diffs the server may send by itself before they are used.
constexpr std::uint64_t push_window_bytes = 8 << 20;

// The version that a diff begins at, from its head; false: it is no diff.
bool peek_from(std::span<const std::byte> bytes, std::uint64_t& from) {
  diff::Reader reader(bytes);
  const std::byte* magic_and_flags = nullptr;
  return reader.take(diff::kMagic.size() + 1, magic_and_flags) && reader.varint(from);
}

template <typename Body>
bool body_of(const session::Incoming& incoming, message_type type, Body& body) {
  return incoming.type() == type && session::decoded(incoming.message.body, body);
}

}  // namespace

void Segment::absorb(session::Incoming& incoming, bool is_late) {
  const MutexLock lock(mutex_);
  count_received(incoming);
  if (incoming.tag == 0) {
    absorb_notification(incoming);
  } else {
    absorb_answer(incoming, is_late);
  }
}

void Segment::count_received(const session::Incoming& incoming) {
  ++stats_.messages_received;
  stats_.bytes_received += incoming.message.frame_bytes;
  if (incoming.tag == 0) ++stats_.notifications;
}

void Segment::absorb_answer(session::Incoming& incoming, bool is_late) {
  switch (incoming.asked) {
    case message_type::ACQUIRE_READER: {
      protocol::reader_acquired acquired;
      if (body_of(incoming, message_type::READER_ACQUIRED, acquired)) {
        absorb_diff(incoming, acquired.now, acquired.updated);
        if (is_late && asked_strict_) strict_unused();
      }
      return;
    }
    case message_type::ACQUIRE_WRITER:
      absorb_grant(incoming, is_late);
      return;
    case message_type::RENEW_WRITER: {
      protocol::writer_renewed renewed;
      if (body_of(incoming, message_type::WRITER_RENEWED, renewed)) {
        grant_.renewed(renewed.lease_ms, incoming.sent_ns);
      } else {
        grant_.lost(grant_.fence());
      }
      return;
    }
    case message_type::RELEASE_WRITER: {
      protocol::writer_released released;
      if (body_of(incoming, message_type::WRITER_RELEASED, released) &&
          !released.versions.empty()) {
        state_.released(released.versions.front(), incoming.sent_ns);
      }
      return;
    }
    case message_type::SUBSCRIBE: {
      subscription_.settled();
      protocol::subscribed subscribed;
      if (body_of(incoming, message_type::SUBSCRIBED, subscribed)) {
        state_.subscribed(subscription_.asked().promise);
        state_.newest_is(subscribed.now, incoming.sent_ns);
        // The model may have changed meanwhile.
        if (is_subscription_unwanted() || lacks_subscription()) runtime_.wake();
      }
      return;
    }
    case message_type::OPEN_SEGMENT:
      if (is_late) absorb_late_opening(incoming);
      return;
    default:
      return;
  }
}

void Segment::absorb_late_opening(const session::Incoming& incoming) {
  protocol::segment_opened opened;
  if (!body_of(incoming, message_type::SEGMENT_OPENED, opened)) return;
  opened_unwanted(incoming.connection, opened.segment);
}

void Segment::absorb_diff(session::Incoming& incoming, const protocol::version_stamp& now,
                          bool updated) {
  if (!updated) {
    state_.up_to_date(now, incoming.sent_ns);
    return;
  }
  session::StagedDiff diff;
  std::uint64_t from = 0;
  if (!peek_from(incoming.message.bulk.bytes(), from)) return;
  diff.from = state_.base_of_update(from, now.incarnation);
  diff.now = now;
  diff.bytes = std::move(incoming.message.bulk);
  diff.as_of_ns = incoming.sent_ns;
  ++stats_.diffs_received;
  stats_.diff_bytes_received += diff.bytes.size_bytes();
  if (from == 0) ++stats_.full_copies;
  (void)state_.stage(std::move(diff));
}

void Segment::absorb_grant(session::Incoming& incoming, bool is_late) {
  protocol::writer_acquired granted;
  if (!body_of(incoming, message_type::WRITER_ACQUIRED, granted)) return;
  absorb_diff(incoming, granted.now, granted.updated);
  if (is_late) {
    late_fence_ = granted.fence;
    runtime_.wake();
    return;
  }
  late_fence_ = 0;  // there is one holder at a time: an earlier grant has ended
  granted_ = granted;
  grant_.granted(granted, incoming.sent_ns, now_ns());
}

void Segment::absorb_notification(session::Incoming& incoming) {
  take_notification(incoming);
  if (is_subscription_unwanted()) runtime_.wake();
}

void Segment::take_notification(session::Incoming& incoming) {
  switch (incoming.type()) {
    case message_type::PUSH:
      absorb_push(incoming);
      return;
    case message_type::NOT_RECENT: {
      protocol::not_recent told;
      if (!body_of(incoming, message_type::NOT_RECENT, told)) return;
      state_.adaptation.notified();
      state_.not_recent(told.now, now_ns());
      if (told.now != called_for_) note_change();  // [CONN-2]
      return;
    }
    case message_type::WRITER_LOST: {
      protocol::writer_lost lost;
      if (body_of(incoming, message_type::WRITER_LOST, lost)) grant_.lost(lost.fence);
      return;
    }
    case message_type::SEGMENT_GONE:
      is_removed_ = true;
      if (grant_.is_held()) grant_.lost(grant_.fence());
      return;
    default:
      return;
  }
}

void Segment::absorb_push(session::Incoming& incoming) {
  protocol::push push;
  if (!body_of(incoming, message_type::PUSH, push)) return;
  session::StagedDiff diff;
  diff.from = push.from;
  diff.now = push.now;
  diff.bytes = std::move(incoming.message.bulk);
  diff.was_pushed = true;
  diff.as_of_ns = now_ns();
  ++stats_.diffs_received;
  stats_.diff_bytes_received += diff.bytes.size_bytes();
  state_.adaptation.notified();
  (void)state_.stage(std::move(diff));
  if (push.now != called_for_) note_change();
}

// When the copy stops being recent enough: at once, or, for Temporal, when its time is over.
void Segment::note_change() {
  if (change_fn_ == nullptr || change_due_ns_ != platform::never_ns) return;
  const std::int64_t now = now_ns();
  change_due_ns_ = now;
  if (bound_.model == Model::TEMPORAL && recent_fn_ == nullptr && state_.has_copy()) {
    const std::int64_t confirmed = coherence::confirmed_ns(knowledge());
    if (confirmed != coherence::never_ns) {
      change_due_ns_ = std::max(now, confirmed + static_cast<std::int64_t>(bound_.x * 1e9));
    }
  }
  runtime_.wake();
}

// ---- subscriptions [POLL-1] ----

// Readers that are content with old copies would be sent diffs that they never use. And where there
// is no copy yet, the first acquire asks for it: pushed, too, it would come twice.
session::Watch Segment::wanted_watch() const {
  const bool has_some = state_.reach() != protocol::version_stamp{};
  const bool uses_all =
      recent_fn_ == nullptr && (bound_.model == Model::FULL || bound_.model == Model::DELTA);
  return {coherence::promise_for(bound_), has_some && uses_all};
}

bool Segment::lacks_subscription() const {
  if (life_.is_lost()) return false;
  const bool is_wanted = change_fn_ != nullptr || (state_.adaptation.wants_subscription() &&
                                                   coherence::can_subscribe(bound_.model));
  return is_wanted && subscription_.lacks(wanted_watch(), state_.subscription());
}

bool Segment::is_subscription_unwanted() const {
  if (change_fn_ != nullptr || !state_.subscription().has_value()) return false;
  return !state_.adaptation.wants_subscription() || !coherence::can_subscribe(bound_.model);
}

// Under a stricter promise than is needed the server would go on sending every change; where there
// was no copy, it does not yet push.
void Segment::follow_bound() {
  if (is_subscription_unwanted()) {
    unsubscribe();
  } else if (state_.subscription().has_value() && lacks_subscription()) {
    subscribe();
  }
}

void Segment::subscribe() {
  const session::Watch watch = wanted_watch();
  subscription_.subscribing(watch);
  // The server may act on the new promise before we hear so: the old one does not count any more.
  state_.unsubscribed();
  protocol::subscribe wanted;
  wanted.have = state_.reach();
  wanted.model = watch.promise.model;
  wanted.x = watch.promise.x;
  wanted.push = watch.push;
  wanted.push_bytes = watch.push ? push_window_bytes : 0;
  Result posted;
  {
    const MutexUnlock talking(mutex_);
    posted = post(message_type::SUBSCRIBE, [&wanted](std::uint32_t number) {
      wanted.segment = number;
      return session::encoded(wanted);
    });
  }
  if (!posted) subscription_.settled();
}

void Segment::unsubscribe() {
  // Another thread may want a subscription again before this is on the wire.
  subscription_.unsubscribing();
  state_.unsubscribed();
  {
    const MutexUnlock talking(mutex_);
    (void)post(message_type::UNSUBSCRIBE, [](std::uint32_t number) {
      return session::encoded(protocol::unsubscribe{number});
    });
  }
  subscription_.settled();
  if (lacks_subscription()) runtime_.wake();
}

// A reader that is content with an old copy under Temporal: the server has said all that it will,
// but the copy's time ends [COH-5].
void Segment::watch_time() {
  if (bound_.model != Model::TEMPORAL || recent_fn_ != nullptr) return;
  if (state_.newest() != state_.have()) note_change();
}

// Whether and when the copy stops being recent enough depends on the bound.
void Segment::bound_changed() {
  if (change_due_ns_ != platform::never_ns) {
    change_due_ns_ = platform::never_ns;
    note_change();
  }
  follow_bound();
}

// A callback that runs on another thread may use its argument until it returns.
void Segment::wait_for_callback() {
  while (calling_ != std::thread::id() && calling_ != std::this_thread::get_id()) {
    changed_.wait(mutex_);
  }
}

void Segment::set_change_fn(IW_change_fn function, void* arg) {
  const MutexLock lock(mutex_);
  change_fn_ = function;
  change_arg_ = arg;
  change_due_ns_ = platform::never_ns;
  called_for_ = {};
  wait_for_callback();
  if (lacks_subscription()) subscribe();
  look_for_lost_connection();  // one that was lost before anybody listened
  runtime_.wake();
}

void Segment::set_connection_fn(IW_connection_fn function, void* arg) {
  const MutexLock lock(mutex_);
  connection_fn_ = function;
  connection_arg_ = arg;
  look_for_lost_connection();
  connection_told_ = connection_state();
  wait_for_callback();
  runtime_.wake();
}

IW_connection_t Segment::connection_state() const {
  if (life_.is_lost()) return IW_LOST;
  return life_.is_open() ? IW_CONNECTED : IW_DISCONNECTED;
}

bool Segment::is_connection_news() const {
  return connection_fn_ != nullptr && connection_state() != connection_told_;
}

// ---- the library's thread ----

// What could not be said for lack of memory is said after a pause.
std::int64_t Segment::run_timers(std::int64_t now) {
  const MutexLock lock(mutex_);
  if (is_opened_late_) {
    is_opened_late_ = false;
    tell_closed();
  }
  const std::int64_t after_pause_ns = now + scarcity_pause_ns;
  if (!life_.is_open() || live_->is_lost()) {
    return is_opened_late_ ? after_pause_ns : platform::never_ns;
  }
  if (late_fence_ != 0 && threads_.may_enter(Role::returner)) {
    threads_.enter(Role::returner);
    (void)give_back_late();
    threads_.leave(Role::returner);
    changed_.notify_all();
  }
  give_back_strict();
  if (grant_.renewal_due_ns() <= now) renew_grant();
  if (change_fn_ != nullptr && lacks_subscription()) subscribe();
  follow_bound();
  const std::int64_t due_ns = std::max(grant_.renewal_due_ns(), after_pause_ns);
  return has_unsaid() ? after_pause_ns : due_ns;
}

void Segment::renew_grant() {
  grant_.renewal_sent();
  const std::uint64_t fence = grant_.fence();
  Result posted;
  {
    const MutexUnlock talking(mutex_);
    posted = post(message_type::RENEW_WRITER, [fence](std::uint32_t number) {
      return session::encoded(protocol::renew_writer{number, fence});
    });
  }
  if (posted.code == error_code::NO_MEMORY) grant_.renewal_unsent();
}

// Of what the library's thread has just tried to say.
bool Segment::has_unsaid() const {
  const bool is_late_kept = late_fence_ != 0 && !threads_.has(Role::writer);
  const bool is_strict_kept = has_unused_strict_ && !threads_.has(Role::asker);
  return is_late_kept || is_strict_kept || (change_fn_ != nullptr && lacks_subscription());
}

std::int64_t Segment::change_due_ns() {
  const MutexLock lock(mutex_);
  return is_connection_news() ? 0 : change_due_ns_;
}

// The program's function, without the mutex.
template <typename Callback>
void Segment::call(const Callback& callback) {
  calling_ = std::this_thread::get_id();
  {
    const MutexUnlock calling(mutex_);
    callback();
  }
  calling_ = {};
  changed_.notify_all();
}

// One call at a time: what is due meanwhile waits for its end.
void Segment::call_due_change(std::int64_t now) {
  const MutexLock lock(mutex_);
  const bool is_change_due = change_due_ns_ <= now && change_fn_ != nullptr;
  if (calling_ != std::thread::id() || !(is_change_due || is_connection_news())) return;
  IW_segment* const handle = handle_;
  if (is_connection_news()) {
    connection_told_ = connection_state();
    call([handle, function = connection_fn_, told = connection_told_, arg = connection_arg_] {
      function(handle, told, arg);
    });
  }
  if (change_due_ns_ <= now && change_fn_ != nullptr && calling_ == std::thread::id()) {
    change_due_ns_ = platform::never_ns;
    called_for_ = state_.newest();
    call([handle, function = change_fn_, version = called_for_.number, arg = change_arg_] {
      function(handle, version, arg);
    });
  }
  if (change_due_ns_ != platform::never_ns || is_connection_news()) runtime_.wake();
}

void Segment::fill_stats(IW_stats_t& out) {
  std::shared_ptr<Copy> copy;
  {
    const MutexLock lock(mutex_);
    out = stats_;
    out.version = state_.have().number;
    out.newest_known = state_.newest().number;
    copy = copy_;
  }
  if (copy == nullptr) return;
  const memory::Usage usage = copy->heap().usage();
  out.blocks = usage.blocks;
  out.native_bytes = usage.capacity_bytes;
}

}  // namespace iw::client
