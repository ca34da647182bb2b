// Reader locks: is the copy recent enough, asking, applying what has come.
#include <algorithm>
#include <array>
#include <cstdio>

#include "client/log.h"
#include "client/runtime.h"
#include "client/segment.h"
#include "client/waiting.h"
#include "session/frame_writer.h"

namespace iw::client {

using coherence::Model;
using platform::now_ns;
using protocol::error_code;

namespace {

// Between two looks for stray stores.
constexpr std::int64_t least_stray_pause_ns = 100'000;
// Between two attempts to reach the targets of stubs, and how long one may take.
constexpr std::int64_t least_heal_pause_ns = 10'000'000;
constexpr std::int64_t heal_patience_ns = 1'000'000'000;

std::string hexadecimal(const void* address) {
  std::array<char, 2 + 2 * sizeof address + 1> text;
  std::snprintf(text.data(), text.size(), "%p", address);
  return text.data();
}

}  // namespace

coherence::Knowledge Segment::knowledge() const {
  return live_ == nullptr ? talk_.state().knowledge(coherence::never_ns, 0)
                          : talk_.state().knowledge(live_->heard_ns(), live_->heartbeat_ns());
}

bool Segment::is_recent(const coherence::Knowledge& known, std::int64_t began_ns,
                        std::int64_t now_ns) {
  if (recent_fn_ != nullptr) {
    if (!known.has_copy) return false;
    const std::int64_t confirmed = coherence::confirmed_ns(known);
    IW_copy_state state{};
    state.size = sizeof state;
    state.version = known.copy.number;
    state.newest_known = known.newest.number;
    state.seconds_confirmed =
        confirmed == coherence::never_ns ? 1e300 : static_cast<double>(now_ns - confirmed) / 1e9;
    state.subscribed = known.promised && known.promise.model == Model::FULL ? 1 : 0;
    return recent_fn_(&state, recent_arg_) != 0;
  }
  return coherence::is_recent(talk_.wants().bound, known, began_ns, now_ns);
}

Result Segment::acquire_reader(const Wish& wish) {
  if (Hold* const hold = find_hold(this); hold != nullptr) {
    ++hold->reads;  // nested [PROC-3], or the writer's own [PROC-4]
    return {};
  }
  prepare_hold();
  const std::int64_t began_ns = now_ns();
  const MutexLock lock(mutex_);
  if (talk_.life().is_lost()) return lost();
  // Another thread may have closed it since this call began.
  const bool is_free = copy_ != nullptr && threads_.may_enter(Role::reader) &&
                       began_ns < strays_due_ns_ && !may_heal(began_ns);
  if (is_free && !wish.fresh && is_recent(knowledge(), began_ns, began_ns)) {
    ++stats_.local_reader_locks;
    enter_reader(Role::reader, false);
    return {};
  }
  return acquire_reader_slowly(wish, began_ns);
}

// With a hold prepared; nobody is exclusive. `is_strict`: the server keeps a lock for it, whatever
// the model is by now.
void Segment::enter_reader(Role role, bool is_strict) {
  if (!threads_.has_readers()) show_access(track::Access::read);
  threads_.enter_reader(role, is_strict);
  ++stats_.reader_locks;
  talk_.state().adaptation.acquired();
  add_hold({this, 1, 0, is_strict, opening_});
  if (change_fn_ == nullptr) return;
  session::Effects effects;
  talk_.entered(moment(), effects);
  carry_out(effects);
}

Result Segment::acquire_reader_slowly(const Wish& wish, std::int64_t began_ns) {
  bool is_updated = false;
  bool is_strict = false;
  bool has_healed = false;
  while (true) {
    if (!threads_.may_enter(Role::asker)) {
      // While another thread asks, perhaps for long, the copy is as good as before. What would be
      // looked for first can wait.
      const bool is_free = !wish.fresh && !is_updated && threads_.may_enter(Role::reader) &&
                           copy_ != nullptr && !talk_.life().is_lost();
      if (is_free && is_recent(knowledge(), began_ns, now_ns())) break;
      if (wait(wish)) continue;
      if (is_strict) strict_unused();
      return {error_code::TIMED_OUT,
              "another thread of this process did not finish writing or updating the segment "
              "before the deadline"};
    }
    if (talk_.life().is_lost()) {
      if (is_strict) strict_unused();
      return lost();
    }
    if (now_ns() >= strays_due_ns_ && !threads_.has_readers()) {
      look_for_strays();
      continue;
    }
    const bool heals = may_heal(now_ns()) || (has_unreachable_ && wish.fresh && !has_healed);
    if (heals && !threads_.has_readers()) {
      has_healed = true;
      threads_.enter(Role::exclusive);
      heal_stubs();
      leave_exclusive();
      continue;
    }
    const bool must_ask = wish.fresh && !is_updated;
    if (!must_ask && is_recent(knowledge(), began_ns, now_ns())) break;
    threads_.enter(Role::asker);
    const Result updated = types::or_no_memory([&] {
      mutex_.assert_held();
      return update(wish, began_ns, is_strict);
    });
    threads_.leave(Role::asker);
    changed_.notify_all();
    if (!updated) {
      if (is_strict) strict_unused();
      // Another thread's CLOSE_SEGMENT has ended the question [LOST-4].
      return talk_.life().is_lost() ? lost() : updated;
    }
    is_updated = true;
    // A writer of this process that came in meanwhile has a newer version.
    if (threads_.may_enter(Role::updated_reader)) break;
  }
  if (talk_.life().is_lost() || copy_ == nullptr) {
    if (is_strict) strict_unused();
    if (talk_.life().is_lost()) return lost();
    return {error_code::NOT_OPEN, "another thread closed the segment meanwhile"};
  }
  if (!is_updated) ++stats_.local_reader_locks;
  enter_reader(Role::updated_reader, is_strict);
  return {};
}

// By the one thread that asks. What the server has sent by itself may be enough.
Result Segment::update(const Wish& wish, std::int64_t began_ns, bool& is_strict) {
  session::CopyState& state = talk_.state();
  const bool is_staged_enough = !wish.fresh && state.has_staged() &&
                                is_recent(state.with_staged(knowledge()), began_ns, now_ns());
  if (!is_staged_enough) {
    const coherence::Bound bound = recent_fn_ == nullptr ? talk_.wants().bound : coherence::Bound{};
    if (bound.model == Model::STRICT) {
      is_strict = true;
      talk_.asks_strict();
    }
    if (Result asked = ask(wish, bound, wish.fresh); !asked) return asked;
    session::Effects effects;
    talk_.watch(effects);
    carry_out(effects);
  }
  if (!state.has_staged()) return {};
  if (Result alone = enter_exclusive(wish); !alone) return alone;
  Result applied = types::or_no_memory([&] {
    mutex_.assert_held();
    return apply_staged(wish.deadline_ns);
  });
  leave_exclusive();
  return applied;
}

// One question and its answer; absorb() has taken in what the answer says. The mutex is given up
// meanwhile.
Result Segment::ask(const Wish& wish, coherence::Bound bound, bool fresh) {
  if (recent_fn_ != nullptr) {
    bound = {};
    fresh = true;
  }
  while (true) {
    const std::uint32_t deadline_ms = wish.may_wait ? milliseconds_until(wish.deadline_ns) : 0;
    session::CopyState::Asked asked;
    protocol::reader_acquired acquired;
    Result answered;
    {
      const MutexUnlock talking(mutex_);
      Request request;
      request.type = message_type::ACQUIRE_READER;
      request.waits_for_others = bound.model == Model::STRICT;
      answered = converse(
          request,
          [this, &bound, &asked, fresh, deadline_ms] {
            mutex_.assert_held();
            asked = talk_.state().asked();
            return session::encoded(talk_.question(bound, fresh, deadline_ms));
          },
          wish.deadline_ns, wish.may_wait);
      if (answered) {
        answered = session::decode_answer(request.answer, message_type::READER_ACQUIRED, acquired);
      }
    }
    if (!answered) return answered;
    talk_.state().adaptation.asked(!acquired.updated);
    const bool asks_again = talk_.must_ask_again(acquired, asked);
    if (!asks_again || threads_.has(Role::exclusive)) return {};
  }
}

// By the thread that is exclusive. The mutex is given up meanwhile.
Result Segment::apply_staged(std::int64_t deadline_ns) {
  {
    const MutexUnlock undoing(mutex_);
    undo_strays();
  }
  Result result;
  session::CopyState& state = talk_.state();
  while (result.ok()) {
    std::optional<session::StagedDiff> diff = state.take_staged();
    if (!diff) break;
    // [LOST-2]
    const bool must_hold_blocks =
        talk_.has_content() && diff->now.incarnation != state.had().incarnation;
    bool damaged = false;
    {
      const MutexUnlock applying(mutex_);
      result =
          types::or_no_memory([&] { return apply(*diff, must_hold_blocks, deadline_ns, damaged); });
    }
    if (result.ok()) {
      state.applied(*diff);
      continue;
    }
    if (damaged) {
      state.forget();
    } else {
      state.dropped(*diff);
      state.drop_staged();
    }
    if (result.code == error_code::SEGMENT_LOST) {
      give_up_lost(std::move(result.text));
      return lost();
    }
  }
  has_unreachable_ = copy_->has_unreachable();
  if (result.ok() && may_heal(now_ns())) heal_stubs();
  session::Effects effects;
  talk_.give_credit(effects);
  carry_out(effects);
  return result;
}

// `damaged` is right also if it throws.
Result Segment::apply(session::StagedDiff& diff, bool must_hold_blocks, std::int64_t deadline_ns,
                      bool& damaged) {
  HeapResolver resolver(runtime_);
  const auto describe = [&](const types::Url& url, std::vector<std::uint64_t> serials) {
    resolver.asked(url, runtime_.describe(*this, url, std::move(serials), deadline_ns));
  };
  const auto spent = [&diff](const std::byte* end) { diff.bytes.spent(end); };
  return copy_->apply(diff.bytes.bytes(), must_hold_blocks, describe, resolver, spent, damaged);
}

// At an acquire, so often that it costs at most a hundredth of the time [COPY-1]. Nobody reads.
void Segment::look_for_strays() {
  threads_.enter(Role::exclusive);
  std::int64_t began_ns = 0;
  std::int64_t ended_ns = 0;
  {
    const MutexUnlock looking(mutex_);
    began_ns = now_ns();
    undo_strays();
    ended_ns = now_ns();
  }
  strays_due_ns_ = ended_ns + std::max(least_stray_pause_ns, 100 * (ended_ns - began_ns));
  leave_exclusive();
}

// [STUB-1]
bool Segment::may_heal(std::int64_t now_ns) const {
  return has_unreachable_ && now_ns >= heal_due_ns_;
}

// By the thread that is exclusive. The mutex is given up meanwhile. Pointers that cannot be
// healed are tried again, so often that it costs at most a hundredth of the time.
void Segment::heal_stubs() {
  std::int64_t began_ns = 0;
  std::int64_t ended_ns = 0;
  {
    const MutexUnlock healing(mutex_);
    began_ns = now_ns();
    const Result healed = types::or_no_memory([&] {
      HeapResolver resolver(runtime_);
      const auto describe = [&](const types::Url& url, std::vector<std::uint64_t> serials) {
        const std::int64_t deadline_ns = began_ns + heal_patience_ns;
        resolver.asked(url, runtime_.describe(*this, url, std::move(serials), deadline_ns));
      };
      return copy_->heal(describe, resolver);
    });
    if (!healed) {
      say_if_possible(
          [&] { report(healed.code, name_ + ": pointers stay stubs: " + healed.text); });
    }
    ended_ns = now_ns();
  }
  has_unreachable_ = copy_->has_unreachable();
  heal_due_ns_ = ended_ns + std::max(least_heal_pause_ns, 100 * (ended_ns - began_ns));
}

// By the thread that is exclusive [COPY-1].
void Segment::undo_strays() {
  if (copy_ == nullptr || copy_->heap().is_read_only()) return;
  std::vector<Stray> strays;
  std::uint64_t pages = 0;
  const Result undone = copy_->undo_strays(strays, pages);
  say_if_possible([&] {
    if (!undone) report(undone.code, name_ + ": looking for stray stores failed: " + undone.text);
    for (const Stray& stray : strays) report_stray(stray);
  });
  const MutexLock lock(mutex_);
  stats_.stray_writes += pages;
}

void Segment::report_stray(const Stray& stray) const {
  const std::string block = stray.block_name.empty() ? "block " + std::to_string(stray.serial)
                                                     : "block " + std::to_string(stray.serial) +
                                                           " (" + stray.block_name + ")";
  report(error_code::STRAY_WRITE, name_ + ": a store outside the writer lock, in " + block +
                                      ", page of address " + hexadecimal(stray.address) +
                                      ", was undone; take the writer lock before storing");
}

Result Segment::release_reader() {
  Hold* const hold = find_hold(this);
  if (hold == nullptr || hold->reads == 0) {
    return {error_code::NO_LOCK, "this thread holds no reader lock of the segment"};
  }
  if (--hold->reads > 0 || hold->writes > 0) return {};
  const bool is_strict = hold->is_strict;
  drop_hold(this);
  const MutexLock lock(mutex_);
  const ThreadLock::Left left = threads_.leave_reader(is_strict);
  if (left.was_last) show_access(track::Access::none);
  if (left.wakes_others) changed_.notify_all();
  if (left.was_last_strict) {
    session::Effects effects;
    talk_.strict_unused(effects);
    give_back_strict();
    if (talk_.has_unused_strict()) carry_out(effects);
  }
  return {};
}

// The library's thread gives it back, unless a reader takes it first.
void Segment::strict_unused() {
  session::Effects effects;
  talk_.strict_unused(effects);
  carry_out(effects);
}

// The server keeps one Strict reader's lock for the whole process. It is given back when no thread
// reads and none asks for it: one that asks takes it over, or the library's thread looks again.
void Segment::give_back_strict() {
  if (!talk_.has_unused_strict() || !threads_.may_enter(Role::strict_returner)) return;
  session::Effects effects;
  talk_.return_strict(threads_.has_strict_readers(), effects);
  if (effects.is_empty()) return;
  threads_.enter(Role::strict_returner);
  carry_out(effects);
  threads_.leave(Role::strict_returner);
  changed_.notify_all();
}

Result Segment::refresh() {
  if (find_hold(this) != nullptr) return {};
  Wish wish = wish_for(-1, true);
  if (Result acquired = acquire_reader(wish); !acquired) return acquired;
  return release_reader();
}

Result Segment::staleness(double& seconds) {
  const MutexLock lock(mutex_);
  const std::int64_t confirmed = coherence::confirmed_ns(knowledge());
  seconds = !talk_.state().has_copy() || confirmed == coherence::never_ns
                ? -1
                : std::max(0.0, static_cast<double>(now_ns() - confirmed) / 1e9);
  return {};
}

std::uint64_t Segment::version() {
  const MutexLock lock(mutex_);
  return talk_.state().have().number;
}

void Segment::set_bound(const coherence::Bound& bound) {
  const MutexLock lock(mutex_);
  recent_fn_ = nullptr;
  session::Effects effects;
  talk_.set_bound(bound, false, moment(), effects);
  carry_out(effects);
}

void Segment::set_recent_fn(IW_recent_fn function, void* arg) {
  const MutexLock lock(mutex_);
  recent_fn_ = function;
  recent_arg_ = arg;
  session::Effects effects;
  talk_.set_bound({}, function != nullptr, moment(), effects);
  carry_out(effects);
}

}  // namespace iw::client
