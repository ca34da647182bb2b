#include "ddss/lock.h"

#include <algorithm>

namespace iw::ddss {
namespace {

constexpr std::chrono::microseconds pause_max{1000};

}  // namespace

int Patience::pause() {
  if (++looks_ <= looks_without_pause) return 0;
  if (is_unwanted != nullptr && *is_unwanted) return DDSS_ETIMEDOUT;
  const auto now = fabric::Clock::now();
  if (deadline_ == fabric::Deadline{}) deadline_ = now + link_.timeout;
  if (now >= deadline_) return DDSS_ETIMEDOUT;
  link_.worker->wait([] { return false; }, std::min(deadline_, now + length_));
  length_ = std::min(2 * length_, pause_max);
  return 0;
}

Lock::Holding* Lock::mine() {
  const auto found = std::find_if(holdings_.begin(), holdings_.end(), [](const Holding& each) {
    return each.owner == std::this_thread::get_id();
  });
  return found == holdings_.end() ? nullptr : &*found;
}

bool Lock::is_held_here() const {
  const platform::MutexLock held(mutex_);
  const Holding* holding = mine();
  return holding != nullptr && holding->state == State::held;
}

bool Lock::enter(Hold hold) {
  const platform::MutexLock held(mutex_);
  if (mine() != nullptr) return false;
  holdings_.push_back(Holding{std::this_thread::get_id(), hold});
  return true;
}

void Lock::leave() {
  const platform::MutexLock held(mutex_);
  holdings_.erase(holdings_.begin() + (mine() - holdings_.data()));
}

void Lock::set_state(State state) {
  const platform::MutexLock held(mutex_);
  mine()->state = state;
}

int Lock::look(LockWords* words) const { return link_.get(offset_, words); }

int Lock::acquire(Hold hold) {
  if (!enter(hold)) return DDSS_EHELD;
  Patience patience(link_);
  for (;;) {
    QueuePlace place;
    int error = 0;
    Asked asked =
        hold == Hold::exclusive ? ask_exclusive(&place, &error) : ask_shared(&place, &error);
    if (asked == Asked::queued) asked = await_turn(hold, place, &patience, &error);
    if (asked == Asked::granted) return hold_at(place);
    if (asked == Asked::failed) return give_up(error);
    set_state(State::waiting);
    error = pause_while_waiting(&patience);
    if (error != 0) return give_up(error);
    const platform::MutexLock held(mutex_);
    mine()->state = State::in_flight;
    mine()->must_ask_again = false;
  }
}

// Enters only if the lock looks free. Otherwise a thread that tries again and again would always be
// in flight, and no survey would end.
int Lock::try_acquire(Hold hold) {
  if (is_held_here()) return DDSS_EHELD;
  for (;;) {
    LockWords words;
    int error = look(&words);
    if (error != 0) return error;
    const Queue queue = unpack_queue(words.queue);
    const bool is_free = queue.tail != frozen && queue.ticket == unpack_turn(words.turn).ticket() &&
                         (hold == Hold::shared || queue.sharers == 0);
    if (!is_free) {
      if (is_to_be_recovered(words)) order_recovery();
      return DDSS_EBUSY;
    }
    enter(hold);
    QueuePlace place;
    bool is_in = false;
    error = swap_in(hold, words, &place, &is_in);
    if (error != 0) return give_up(error);
    if (is_in) return hold_at(place);
    leave();
  }
}

// Takes the next place in the queue, if the queue is still as it was seen. So no other holding has
// this ticket, and its turn cannot be over.
int Lock::swap_in(Hold hold, const LockWords& words, QueuePlace* place, bool* is_in) {
  Queue queue = unpack_queue(words.queue);
  *place = {queue.ticket, unpack_turn(words.turn).epoch,
            hold == Hold::exclusive ? queue.sharers : 0};
  if (hold == Hold::exclusive) {
    const auto next = static_cast<std::uint16_t>(queue.ticket + 1);
    queue = {static_cast<std::uint16_t>(neighbours_.number() + 1), next, 0};
  } else {
    queue.sharers++;
  }
  std::uint64_t before = 0;
  const int error = link_.swap(offset_ + queue_at, words.queue, pack(queue), &before);
  *is_in = error == 0 && before == words.queue;
  return error;
}

Lock::Asked Lock::ask_exclusive(QueuePlace* place, int* error) {
  for (;;) {
    LockWords words;
    if ((*error = look(&words)) != 0) return Asked::failed;
    const Queue queue = unpack_queue(words.queue);
    if (queue.tail == frozen) return Asked::being_recovered;
    bool is_in = false;
    *error = swap_in(Hold::exclusive, words, place, &is_in);
    if (*error != 0) return Asked::failed;
    const bool is_free = queue.ticket == unpack_turn(words.turn).ticket() && queue.sharers == 0;
    if (is_in) return is_free ? Asked::granted : Asked::queued;
  }
}

Lock::Asked Lock::ask_shared(QueuePlace* place, int* error) {
  std::uint64_t before = 0;
  LockWords words;
  *error = link_.add(offset_ + queue_at, 1, &before);
  if (*error == 0) *error = look(&words);
  if (*error != 0) return Asked::failed;
  const Queue queue = unpack_queue(before);
  const Turn turn = unpack_turn(words.turn);
  if (queue.tail == frozen) return Asked::being_recovered;  // the queue will be made anew
  *place = {queue.ticket, turn.epoch, 0};
  return queue.ticket == turn.ticket() ? Asked::granted : Asked::queued;
}

Lock::Asked Lock::await_turn(Hold hold, const QueuePlace& place, Patience* patience, int* error) {
  set_state(State::waiting);
  for (;;) {
    LockWords words;
    if ((*error = look(&words)) != 0) return Asked::failed;
    const bool is_turn = unpack_turn(words.turn).ticket() == place.ticket &&
                         words.sharers_gone >= place.sharers_before;
    {
      const platform::MutexLock held(mutex_);
      Holding& holding = *mine();
      if (holding.must_ask_again) return Asked::being_recovered;
      if (is_turn) holding.state = State::in_flight;
    }
    if (is_turn) break;
    if ((*error = pause_while_waiting(patience)) != 0) return Asked::failed;
  }
  // No thread shares the lock now: earlier sharers are gone, and later ones wait for this holding.
  if (hold == Hold::exclusive && place.sharers_before > 0) {
    std::uint64_t before = 0;
    *error = link_.add(offset_ + gone_at, -std::uint64_t{place.sharers_before}, &before);
    if (*error != 0) return Asked::failed;
  }
  return Asked::granted;
}

int Lock::hold_at(const QueuePlace& place) {
  const platform::MutexLock held(mutex_);
  mine()->state = State::held;
  mine()->place = place;
  return 0;
}

int Lock::pause_while_waiting(Patience* patience) {
  const int error = patience->pause();
  if (error != 0 || !patience->is_long()) return error;
  recover_if_needed();  // if this fails, another thread may succeed, or this one later
  return 0;
}

// The place in the queue stays, so the lock must be recovered. A change of deaths_known, as if a
// node had died, makes others recover it.
int Lock::give_up(int error) {
  std::uint64_t before = 0;
  link_.add(offset_ + deaths_at, 1, &before);
  leave();
  return error;
}

// A holding that a survey counted waits until the lock is made anew, because the recovery gives it
// a new place.
int Lock::prepare_release(Hold* hold, QueuePlace* place) {
  Patience patience(link_);
  for (;;) {
    unsigned counted = 0;
    {
      const platform::MutexLock held(mutex_);
      Holding* holding = mine();
      if (holding == nullptr || holding->state != State::held) return DDSS_ENOTHELD;
      counted = holding->counted;
      *hold = holding->hold;
      *place = holding->place;
      if (counted == 0) {
        holding->state = State::in_flight;
        return 0;
      }
    }
    LockWords words;
    int error = look(&words);
    if (error == 0 && unpack_queue(words.queue).tail == frozen) {
      error = pause_while_waiting(&patience);
    } else if (error == 0) {
      const platform::MutexLock held(mutex_);
      Holding& holding = *mine();
      const Turn turn = unpack_turn(words.turn);
      if (holding.counted == counted) holding.counted = 0;
      if (holding.place.epoch != turn.epoch) holding.place = {turn.ticket(), turn.epoch, 0};
    }
    if (error != 0) return error;
  }
}

int Lock::release() {
  Hold hold;
  QueuePlace place;
  int error = prepare_release(&hold, &place);
  if (error == DDSS_ENOTHELD) return error;
  std::uint64_t before = 0;
  if (error == 0) {
    error =
        hold == Hold::exclusive ? link_.add(offset_ + turn_at, 1, &before) : release_shared(place);
  }
  if (error != 0) return give_up(error);
  leave();
  return 0;
}

int Lock::release_shared(const QueuePlace& place) {
  for (;;) {
    LockWords words;
    int error = look(&words);
    if (error != 0) return error;
    const Queue queue = unpack_queue(words.queue);
    // The recovery waits until this holding is not in flight, and does not count it then.
    if (queue.tail == frozen) return 0;
    std::uint64_t before = 0;
    // A later request for the exclusive lock waits until all earlier sharers are gone.
    if (queue.ticket != place.ticket) return link_.add(offset_ + gone_at, 1, &before);
    error = link_.swap(offset_ + queue_at, words.queue, words.queue - 1, &before);
    if (error != 0 || before == words.queue) return error;
  }
}

}  // namespace iw::ddss
