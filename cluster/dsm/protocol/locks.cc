#include "dsm/protocol/locks.h"

#include <utility>

namespace iw::dsm {

// Addresses serve as numbers of locks, and their low bits are equal.
Rank Locks::home_of(LockId lock) const {
  constexpr LockId golden = 0x9e3779b97f4a7c15;
  return static_cast<Rank>(((lock * golden) >> 32) % ranks_);
}

Locks::Outcome Locks::acquire(LockId lock) {
  Lock& here = locks_[lock];
  if (here.place == Place::here) {
    here.place = Place::held;
    return Outcome::held;
  }
  return ask(lock, false);
}

Locks::Outcome Locks::try_acquire(LockId lock) {
  Lock& here = locks_[lock];
  if (here.place == Place::away) return ask(lock, true);
  if (here.place != Place::here) return Outcome::busy;
  here.place = Place::held;
  return Outcome::held;
}

// The home may be this rank, and may grant at once.
Locks::Outcome Locks::ask(LockId lock, bool is_try) {
  locks_[lock].place = Place::asked;
  const Rank home = home_of(lock);
  if (home == me_) {
    heard_ask_lock(me_, lock, is_try, pages_.log().known());
  } else {
    mail_.ask_lock(home, lock, is_try, pages_.log().known());
  }
  return Outcome::asked;
}

bool Locks::release(LockId lock) {
  Lock& here = locks_[lock];
  if (here.place != Place::held) return false;
  here.place = Place::here;
  if (here.next) hand_over(lock, here, *std::exchange(here.next, std::nullopt));
  return true;
}

// The interval ends here, not at each release: a lock that comes back to its last owner costs
// nothing [DSM-LOCK-3].
void Locks::hand_over(LockId lock, Lock& here, const Asker& to) {
  here.place = Place::away;
  pages_.end_interval();
  const std::vector<Interval> lacking = pages_.log().after(to.known);
  if (to.rank == me_) return take_or_keep({lock, epoch_, lacking});
  mail_.grant(to.rank, lock, epoch_, lacking);
}

void Locks::heard_ask_lock(Rank from, LockId lock, bool is_try, const VectorTime& known) {
  Home& home = homes_[lock];
  Question question{from, is_try, known};
  if (home.trying) {
    home.waiting.push_back(std::move(question));
  } else {
    take_question(lock, home, question);
  }
}

void Locks::take_question(LockId lock, Home& home, const Question& question) {
  const auto& [asker, is_try, known] = question;
  if (!home.tail) {
    home.tail = asker;
    if (asker == me_) return take_or_keep({lock, 0, {}});
    return mail_.grant(asker, lock, 0, {});
  }
  const Rank tail = *home.tail;
  if (is_try) {
    home.trying = asker;
  } else {
    home.tail = asker;
  }
  if (tail == me_) return take_forward(lock, locks_[lock], {asker, known}, is_try);
  mail_.forward(tail, lock, asker, is_try, known);
}

bool Locks::heard_forward(LockId lock, Rank asker, bool is_try, const VectorTime& known) {
  const auto found = locks_.find(lock);
  if (found == locks_.end()) return false;
  Lock& here = found->second;
  if (here.place == Place::away || (!is_try && here.next)) return false;
  take_forward(lock, here, {asker, known}, is_try);
  return true;
}

void Locks::take_forward(LockId lock, Lock& here, const Asker& asker, bool is_try) {
  const bool is_here = here.place == Place::here;
  if (is_here) {
    hand_over(lock, here, asker);
  } else if (!is_try) {
    here.next = asker;
  } else if (asker.rank == me_) {
    take_refusal(lock);
  } else {
    mail_.refuse(asker.rank, lock);
  }
  if (!is_try) return;
  if (home_of(lock) == me_) return end_try(lock, homes_[lock], is_here);
  mail_.tell_tried(home_of(lock), lock, is_here);
}

bool Locks::heard_tell_tried(Rank from, LockId lock, bool is_given) {
  const auto found = homes_.find(lock);
  if (found == homes_.end() || !found->second.trying || found->second.tail != from) return false;
  end_try(lock, found->second, is_given);
  return true;
}

void Locks::end_try(LockId lock, Home& home, bool is_given) {
  if (is_given) home.tail = home.trying;
  home.trying.reset();
  while (!home.waiting.empty() && !home.trying) {
    const Question next = std::move(home.waiting.front());
    home.waiting.pop_front();
    take_question(lock, home, next);
  }
}

bool Locks::heard_refuse(LockId lock) {
  const auto found = locks_.find(lock);
  if (found == locks_.end() || found->second.place != Place::asked) return false;
  take_refusal(lock);
  return true;
}

void Locks::take_refusal(LockId lock) {
  locks_[lock].place = Place::away;
  listener_.not_acquired(lock);
}

bool Locks::heard_grant(LockId lock, Epoch epoch, std::vector<Interval> intervals) {
  const auto found = locks_.find(lock);
  if (found == locks_.end() || found->second.place != Place::asked) return false;
  take_or_keep({lock, epoch, std::move(intervals)});
  return true;
}

void Locks::take_or_keep(Grant grant) {
  // Its intervals begin after the barrier, and those before it are still on their way here.
  if (grant.epoch > epoch_) return early_.push_back(std::move(grant));
  take_grant(grant);
}

void Locks::take_grant(const Grant& grant) {
  pages_.learn(grant.intervals);
  locks_[grant.lock].place = Place::held;
  listener_.acquired(grant.lock);
}

void Locks::passed_barrier() {
  epoch_++;
  for (Grant& each : std::exchange(early_, {})) take_or_keep(std::move(each));
}

}  // namespace iw::dsm
