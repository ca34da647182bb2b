#include "dsm/protocol/locks.h"

#include <algorithm>
#include <map>
#include <utility>

namespace iw::dsm {

// Addresses serve as numbers of locks, and their low bits are equal.
Rank Locks::home_of(LockId lock) const {
  constexpr LockId golden = 0x9e3779b97f4a7c15;
  return static_cast<Rank>(((lock * golden) >> 32) % ranks_);
}

Locks::Outcome Locks::acquire(LockId lock) {
  Lock& here = locks_[lock];
  if (here.place != Place::here) return ask(lock, false);
  take_from_here(here);
  return Outcome::held;
}

void Locks::take_from_here(Lock& here) {
  here.place = Place::held;
  here.is_idle = false;
  free_count_--;
}

Locks::Outcome Locks::try_acquire(LockId lock) {
  Lock& here = locks_[lock];
  if (here.place == Place::away) return ask(lock, true);
  if (here.place != Place::here) return Outcome::busy;
  take_from_here(here);
  return Outcome::held;
}

// The home may be this rank, and may grant at once.
Locks::Outcome Locks::ask(LockId lock, bool is_try) {
  Lock& here = locks_[lock];
  here.place = Place::asked;
  here.is_tried = is_try;
  const Rank home = home_of(lock);
  if (home == me_) {
    heard_ask_lock(me_, lock, is_try, pages_.log().known());
  } else {
    mail_.ask_lock(home, lock, is_try, pages_.log().known());
  }
  return Outcome::asked;
}

bool Locks::release(LockId lock) {
  const auto found = locks_.find(lock);
  if (found == locks_.end() || found->second.place != Place::held) return false;
  Lock& here = found->second;
  if (!here.next) {
    here.place = Place::here;
    free_count_++;
    return true;
  }
  here.place = Place::away;
  hand_over(lock, *std::exchange(here.next, std::nullopt));
  forget_if_away(lock);
  return true;
}

void Locks::forget_if_away(LockId lock) {
  const auto found = locks_.find(lock);
  if (found == locks_.end()) return;
  const Lock& here = found->second;
  const bool is_away = here.place == Place::away && here.given_back == Return::none && !here.next;
  if (is_away) locks_.erase(found);
}

// The interval ends here, not at each release: a lock that comes back to its last owner costs
// nothing [DSM-LOCK-3].
void Locks::hand_over(LockId lock, const Asker& to) {
  pages_.end_interval();
  const std::vector<Interval> lacking = pages_.log().after(to.known);
  if (to.rank == me_) return take_or_keep({me_, lock, epoch_, lacking});
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
    if (asker == me_) return take_or_keep({me_, lock, epoch_of_givers_, {}});
    return mail_.grant(asker, lock, epoch_of_givers_, {});
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
  const bool is_owner = here.place != Place::away || here.given_back == Return::open;
  if (!is_owner || (!is_try && here.next)) return false;
  take_forward(lock, here, {asker, known}, is_try);
  return true;
}

void Locks::take_forward(LockId lock, Lock& here, const Asker& asker, bool is_try) {
  const bool is_given_back = here.given_back == Return::open;
  const bool is_here = here.place == Place::here || is_given_back;
  if (is_given_back) {
    here.given_back = Return::handed_over;
    hand_over(lock, asker);
  } else if (is_here) {
    here.place = Place::away;
    free_count_--;
    hand_over(lock, asker);
    forget_if_away(lock);
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
  Home& home = found->second;
  end_try(lock, home, is_given);
  if (!home.tail && home.waiting.empty()) homes_.erase(lock);
  return true;
}

void Locks::end_try(LockId lock, Home& home, bool is_given) {
  if (is_given) home.tail = home.trying;
  home.trying.reset();
  if (std::exchange(home.is_given_back, false)) {
    const GivenLock answer{lock, 1, 0};
    if (is_given) mail_.take_back(*std::exchange(home.tail, std::nullopt), std::span(&answer, 1));
  }
  while (!home.waiting.empty() && !home.trying) {
    const Question next = std::move(home.waiting.front());
    home.waiting.pop_front();
    take_question(lock, home, next);
  }
}

bool Locks::heard_refuse(LockId lock) {
  const auto found = locks_.find(lock);
  const bool is_tried =
      found != locks_.end() && found->second.place == Place::asked && found->second.is_tried;
  if (!is_tried) return false;
  take_refusal(lock);
  return true;
}

void Locks::take_refusal(LockId lock) {
  locks_[lock].place = Place::away;
  forget_if_away(lock);
  listener_.not_acquired(lock);
}

bool Locks::heard_grant(Rank from, LockId lock, Epoch epoch, std::vector<Interval> intervals) {
  const auto found = locks_.find(lock);
  const bool is_waited_for = found != locks_.end() && found->second.place == Place::asked &&
                             std::ranges::find(early_, lock, &Grant::lock) == early_.end();
  if (!is_waited_for || !is_possible(epoch)) return false;
  take_or_keep({from, lock, epoch, std::move(intervals)});
  return true;
}

void Locks::take_or_keep(Grant grant) {
  // Its intervals begin after the barrier, and those before it are still on their way here.
  if (grant.epoch > epoch_) return early_.push_back(std::move(grant));
  take_grant(grant);
}

void Locks::take_grant(const Grant& grant) {
  pages_.learn(grant.intervals);
  Lock& here = locks_[grant.lock];
  here.place = Place::held;
  here.is_idle = false;
  listener_.acquired(grant.lock);
}

void Locks::passed_barrier(const VectorTime& common) {
  epoch_++;
  for (const Grant& each : std::exchange(early_, {})) {
    if (!pages_.log().can_add(each.intervals)) return listener_.granted_with_gap(each.from);
    take_grant(each);
  }
  batch_above_ = kept_most_;
  all_know(common);
}

// Giving back [DSM-LOCK-7].

bool Locks::wants_common_time() {
  if (batch_) return true;
  if (free_count_ <= batch_above_) return false;
  pages_.end_interval();
  batch_ = pages_.log().known();
  for (auto& [lock, here] : locks_) here.is_idle = here.place == Place::here;
  return true;
}

bool Locks::all_know(const VectorTime& common) {
  if (!batch_) return false;
  const bool is_late_enough = std::ranges::equal(common, *batch_, std::ranges::greater_equal());
  if (is_late_enough) give_back_batch();
  return !is_late_enough;
}

void Locks::give_back_batch() {
  batch_.reset();
  std::map<Rank, std::vector<GivenLock>> by_home;
  for (const auto& [lock, here] : locks_) {
    // The home has to answer to the last time first: the lock may have come back before.
    const bool may_go =
        here.place == Place::here && here.is_idle && here.given_back == Return::none;
    if (may_go) by_home[home_of(lock)].push_back({lock, 0, 0});
  }
  for (const auto& [home, locks] : by_home) {
    for (const GivenLock& each : locks) {
      // One that was tried for stays, if this rank as its home was not told of it yet.
      if (home == me_ && !take_back_one(me_, each.lock)) continue;
      free_count_--;
      if (home == me_) {
        locks_.erase(each.lock);
      } else {
        locks_[each.lock].place = Place::away;
        locks_[each.lock].given_back = Return::open;
      }
    }
    constexpr std::size_t most = given_locks_max;
    for (std::size_t i = 0; i < locks.size() && home != me_; i += most) {
      mail_.give_back(home, epoch_, std::span(locks).subspan(i, std::min(most, locks.size() - i)));
    }
  }
  batch_above_ = std::max(kept_most_, free_count_ + free_count_ / 2);
  epoch_of_givers_ = std::max(epoch_of_givers_, epoch_);
}

// A lock that is not the giver's any more was forwarded, and the forward is on its way.
bool Locks::take_back_one(Rank from, LockId lock) {
  const auto found = homes_.find(lock);
  const bool is_free = found != homes_.end() && found->second.tail == from &&
                       !found->second.trying && found->second.waiting.empty();
  if (is_free) homes_.erase(found);
  return is_free;
}

bool Locks::heard_give_back(Rank from, Epoch epoch, std::span<const GivenLock> locks) {
  if (!is_possible(epoch)) return false;
  epoch_of_givers_ = std::max(epoch_of_givers_, epoch);
  std::vector<GivenLock> answer;
  for (const GivenLock& each : locks) {
    const auto found = homes_.find(each.lock);
    if (found != homes_.end() && found->second.trying == from) {
      // Its grant came from the tail, whose own word is on its way here.
      found->second.is_given_back = true;
    } else {
      answer.push_back({each.lock, take_back_one(from, each.lock) ? 1u : 0u, 0});
    }
  }
  if (!answer.empty()) mail_.take_back(from, answer);
  return true;
}

bool Locks::heard_take_back(Rank from, std::span<const GivenLock> locks) {
  for (const GivenLock& each : locks) {
    const auto found = locks_.find(each.lock);
    const Return expected = each.is_taken != 0 ? Return::open : Return::handed_over;
    const bool is_expected =
        home_of(each.lock) == from && found != locks_.end() && found->second.given_back == expected;
    if (!is_expected) return false;
    found->second.given_back = Return::none;
    forget_if_away(each.lock);
  }
  return true;
}

}  // namespace iw::dsm
