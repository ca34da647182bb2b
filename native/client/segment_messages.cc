// Messages from the server, taken in on the reading thread in the order of arrival; the program's
// callbacks; and the work of the library's thread. The conversation (session/conversation.h)
// decides; its effects are carried out here.
#include <algorithm>

#include "client/log.h"
#include "client/runtime.h"
#include "client/segment.h"
#include "client/waiting.h"

namespace iw::client {

using platform::now_ns;

void Segment::absorb(session::Incoming& incoming, bool is_late) {
  const MutexLock lock(mutex_);
  ++stats_.messages_received;
  stats_.bytes_received += incoming.message.frame_bytes;
  if (incoming.tag == 0) ++stats_.notifications;
  session::Effects effects;
  session::Conversation::Brought brought = talk_.heard(incoming, is_late, moment(), effects);
  const bool is_wanted = live_ != nullptr && talk_.life().is_wanted();
  if (brought.moved_to && is_wanted) moved_ = {live_, *std::move(brought.moved_to)};
  if (brought.has_diff) ++stats_.diffs_received;
  if (brought.is_complete) ++stats_.full_copies;
  stats_.diff_bytes_received += brought.diff_bytes;
  const message_type type = incoming.type();
  const bool is_news =
      incoming.tag == 0 && (type == message_type::PUSH || type == message_type::NOT_RECENT);
  if (is_news && runtime_.is_dispatching() && talk_.change_due_ns() <= now_ns()) {
    // This thread calls the callback next, so the library's thread is not woken for it. A change
    // that is due later [COH-5] needs the timer of the library's thread.
    session::Effect effect;
    while (effects.take(effect)) {
      if (effect.kind == session::Effect::Kind::look_again) changed_.notify_all();
    }
    runtime_.call_next(*this, call_due_ns());
    look_by(now_ns() + live_->heartbeat_ns());
  }
  carry_out(effects);  // none of them is a message
  look_by(talk_.due_ns());
}

void Segment::begins(const session::Incoming& incoming) {
  const MutexLock lock(mutex_);
  talk_.begins(incoming);
}

// The library's thread looks at it then, or earlier if that was said before.
void Segment::look_by(std::int64_t due_ns) noexcept {
  if (due_ns < look_.due_ns()) runtime_.look_by(*this, due_ns);
}

void Segment::look_now() noexcept {
  look_by(now_ns());
  if (const std::int64_t due_ns = call_due_ns(); due_ns < call_.due_ns()) {
    runtime_.call_by(*this, due_ns);
  }
}

std::int64_t Segment::call_due_ns() const {
  return is_connection_news() ? now_ns() : talk_.change_due_ns();
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
  talk_.listen(function != nullptr);
  wait_for_callback();
  session::Effects effects;
  talk_.watch(effects);
  carry_out(effects);
  look_for_lost_connection();  // one that was lost before anybody listened
  look_now();
}

void Segment::set_connection_fn(IW_connection_fn function, void* arg) {
  const MutexLock lock(mutex_);
  connection_fn_ = function;
  connection_arg_ = arg;
  look_for_lost_connection();
  connection_told_ = connection_state();
  wait_for_callback();
  look_now();
}

IW_connection_t Segment::connection_state() const {
  if (talk_.is_removed()) return connection_told_;  // it is no more, whatever is connected
  if (talk_.life().is_lost()) return IW_LOST;
  return talk_.life().is_open() ? IW_CONNECTED : IW_DISCONNECTED;
}

bool Segment::is_connection_news() const {
  return connection_fn_ != nullptr && connection_state() != connection_told_;
}

// ---- the library's thread ----

// Messages that could not be sent for lack of memory are sent after a pause. The library's thread
// does not look at a segment at rest until a thread uses it: a program may have very many of them.
std::int64_t Segment::run_timers(std::int64_t now) {
  const MutexLock lock(mutex_);
  if (talk_.must_close()) tell_closed();
  const std::int64_t after_pause_ns = now + scarcity_pause_ns;
  if (!talk_.life().is_open() || live_->is_lost()) {
    return talk_.must_close() ? after_pause_ns : platform::never_ns;
  }
  if (talk_.has_late_grant() && threads_.may_enter(Role::returner)) {
    threads_.enter(Role::returner);
    give_back_late();
    threads_.leave(Role::returner);
    changed_.notify_all();
  }
  give_back_strict();
  session::Effects effects;
  talk_.tick(moment(), effects);
  carry_out(effects);
  const std::int64_t due_ns = std::max(talk_.due_ns(), after_pause_ns);
  if (has_unsaid()) return after_pause_ns;
  return talk_.is_at_rest() ? due_ns : std::min(due_ns, now + live_->heartbeat_ns());
}

// Of what the library's thread has just tried to say.
bool Segment::has_unsaid() const {
  const bool is_late_kept = talk_.has_late_grant() && !threads_.has(Role::writer);
  const bool is_strict_kept = talk_.has_unused_strict() && !threads_.has(Role::asker);
  return is_late_kept || is_strict_kept || talk_.has_unsaid();
}

// The program's function, without the mutex.
template <typename Callback>
void Segment::call_program(const Callback& callback) {
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
  const bool is_change_due = talk_.change_due_ns() <= now && change_fn_ != nullptr;
  if (calling_ != std::thread::id()) return;
  if (!is_change_due && !is_connection_news()) return runtime_.call_by(*this, call_due_ns());
  IW_segment* const handle = handle_;
  if (is_connection_news()) {
    connection_told_ = connection_state();
    call_program([handle, function = connection_fn_, told = connection_told_,
                  arg = connection_arg_] { function(handle, told, arg); });
  }
  const bool is_due = talk_.change_due_ns() <= now && change_fn_ != nullptr;
  if (is_due && calling_ == std::thread::id()) {
    call_program([handle, function = change_fn_, version = talk_.take_change(), arg = change_arg_] {
      function(handle, version, arg);
    });
  }
  if (call_due_ns() != platform::never_ns) look_now();
}

void Segment::fill_stats(IW_stats_t& out) {
  std::shared_ptr<Copy> copy;
  {
    const MutexLock lock(mutex_);
    out = stats_;
    out.version = talk_.state().have().number;
    out.newest_known = talk_.state().newest().number;
    copy = copy_;
  }
  if (copy == nullptr) return;
  const memory::Usage usage = copy->heap().usage();
  out.blocks = usage.blocks;
  out.native_bytes = usage.capacity_bytes;
}

}  // namespace iw::client
