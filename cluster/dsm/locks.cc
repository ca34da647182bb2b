#include "dsm/locks.h"

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
  if (to.rank == me_) return heard_grant(lock, epoch_, lacking);
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
    if (asker == me_) return heard_grant(lock, 0, {});
    return mail_.grant(asker, lock, 0, {});
  }
  const Rank tail = *home.tail;
  if (is_try) {
    home.trying = asker;
  } else {
    home.tail = asker;
  }
  if (tail == me_) return heard_forward(lock, asker, is_try, known);
  mail_.forward(tail, lock, asker, is_try, known);
}

void Locks::heard_forward(LockId lock, Rank asker, bool is_try, const VectorTime& known) {
  Lock& here = locks_[lock];
  const bool is_here = here.place == Place::here;
  if (is_here) {
    hand_over(lock, here, {asker, known});
  } else if (!is_try) {
    here.next = Asker{asker, known};
  } else if (asker == me_) {
    heard_refuse(lock);
  } else {
    mail_.refuse(asker, lock);
  }
  if (!is_try) return;
  if (home_of(lock) == me_) return heard_tell_tried(lock, is_here);
  mail_.tell_tried(home_of(lock), lock, is_here);
}

void Locks::heard_tell_tried(LockId lock, bool is_given) {
  Home& home = homes_[lock];
  if (!home.trying) return;
  if (is_given) home.tail = home.trying;
  home.trying.reset();
  while (!home.waiting.empty() && !home.trying) {
    const Question next = std::move(home.waiting.front());
    home.waiting.pop_front();
    take_question(lock, home, next);
  }
}

void Locks::heard_refuse(LockId lock) {
  locks_[lock].place = Place::away;
  listener_.not_acquired(lock);
}

void Locks::heard_grant(LockId lock, Epoch epoch, std::vector<Interval> intervals) {
  Grant grant{lock, epoch, std::move(intervals)};
  // Its intervals begin after the barrier, and those before it are still on their way here.
  if (epoch > epoch_) return early_.push_back(std::move(grant));
  take_grant(grant);
}

void Locks::take_grant(const Grant& grant) {
  pages_.learn(grant.intervals);
  locks_[grant.lock].place = Place::held;
  listener_.acquired(grant.lock);
}

void Locks::passed_barrier() {
  epoch_++;
  std::vector<Grant> early = std::exchange(early_, {});
  for (Grant& each : early) heard_grant(each.lock, each.epoch, std::move(each.intervals));
}

}  // namespace iw::dsm
