// Entering and leaving the lock among the process's threads; talking to the server.
#include "client/segment.h"

#include <algorithm>

#include "client/log.h"
#include "client/runtime.h"
#include "client/waiting.h"
#include "diff/format.h"
#include "diff/varint.h"
#include "platform/process.h"
#include "session/frame_writer.h"

namespace iw::client {

using platform::now_ns;
using protocol::error_code;
using Kind = session::Effect::Kind;

namespace {

// The version that a diff begins at, from its head; false: it is not a diff.
bool begins_at(std::span<const std::byte> bytes, std::uint64_t& from) {
  diff::Reader reader(bytes);
  const std::byte* magic_and_flags = nullptr;
  return reader.take(diff::kMagic.size() + 1, magic_and_flags) && reader.varint(from);
}

}  // namespace

Segment::Segment(Runtime& runtime, types::Url url, ServerLink& home)
    : runtime_(runtime),
      url_(std::move(url)),
      name_(url_.text()),
      home_(home),
      fork_count_(platform::fork_count()),
      talk_(begins_at),
      last_{&home_, {}} {}

Segment::~Segment() { runtime_.leave(*this); }

std::shared_ptr<Segment> Segment::shared() {
  return std::static_pointer_cast<Segment>(weak_from_this().lock());
}

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

bool Segment::was_short(const Result& called, const Live& live, int& shortages) {
  const bool is_short = called.code == error_code::UNREACHABLE && live.lacked_memory();
  if (is_short) ++shortages;
  return is_short;
}

Result Segment::converse(Request& request, const Body& body, std::int64_t deadline_ns,
                         bool keep_trying) {
  request.segment = this;
  int shortages = 0;
  while (true) {
    std::shared_ptr<Live> live;
    if (Result result = live_and_open(deadline_ns, keep_trying, live); !result) return result;
    {
      const MutexLock lock(mutex_);
      if (talk_.life().is_lost()) return lost();
      request.body = body();
      ++stats_.messages_sent;
    }
    const Result called = live->link().call(live, request, deadline_ns);
    {
      const MutexLock lock(mutex_);
      stats_.bytes_sent += request.frame_bytes;
    }
    // It moved [SPACE-23], and the request goes to its next server.
    if (called && session::is_redirected(request.answer)) {
      if (now_ns() < deadline_ns) continue;
      return {error_code::TIMED_OUT,
              "the segment moved to another server, which could not be asked before the deadline"};
    }
    const bool is_lost = called.code == error_code::UNREACHABLE;
    const bool is_short = was_short(called, *live, shortages);
    if (is_lost && keep_trying && shortages < most_shortages && now_ns() < deadline_ns) continue;
    return is_short ? Result::no_memory() : called;
  }
}

session::Conversation::Moment Segment::moment() const {
  if (live_ == nullptr) return {.now_ns = now_ns()};
  return {now_ns(), live_->heard_ns(), live_->heartbeat_ns()};
}

Segment::Said Segment::carry_out(session::Effects& effects) {
  Said outcome = Said::sent;
  session::Effect effect;
  while (effects.take(effect)) {
    if (effect.kind == Kind::wake) {
      look_now();
    } else if (effect.kind == Kind::look_again) {
      changed_.notify_all();
    } else {
      {
        const MutexUnlock talking(mutex_);
        outcome = say(effect);
      }
      talk_.said(effect, outcome, effects);
      // The library's thread tries it again.
      if (outcome == Said::no_memory) look_by(now_ns() + scarcity_pause_ns);
    }
  }
  if (talk_.life().is_lost() && !talk_.life().must_tell()) is_lost_ = true;
  return outcome;
}

Segment::Said Segment::say(const session::Effect& effect) {
  const std::shared_ptr<Live> live = connection(effect.on);
  if (live == nullptr) return Said::no_connection;
  if (effect.kind == Kind::close_segment) live->link().unlisten(live, effect.segment, *this);
  const Result posted = types::or_no_memory([&] { return post(live, effect); });
  return session::Conversation::said_by(posted.code);
}

Result Segment::post(const std::shared_ptr<Live>& live, const session::Effect& effect) {
  const message_type type = session::type_of(effect.kind);
  ServerLink& link = live->link();
  if (effect.kind == Kind::credit) return link.tell(live, type, session::body_of(effect));
  Request request;
  request.type = type;
  request.body = session::body_of(effect);
  if (effect.kind == Kind::close_segment) return link.post(live, request);
  request.segment = this;
  Result posted = link.post(live, request);
  const MutexLock lock(mutex_);
  stats_.bytes_sent += request.frame_bytes;
  ++stats_.messages_sent;
  return posted;
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
  // Taken under the writer lock, the reader lock stays after the abort.
  if (Hold* const reading = find_hold(this); reading != nullptr) {
    reading->reads = 1;
    (void)release_reader();
  }
}

}  // namespace iw::client
