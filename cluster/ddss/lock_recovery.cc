// Making a lock anew, after a node died or a thread waited in vain; lock.h says when, and how it
// agrees with those who hold it and wait for it.
#include <algorithm>

#include "ddss/lock.h"
#include "platform/mutex.h"

namespace iw::ddss {
namespace {

// Of a recovery: the lock is another's to recover. Greater than all errors.
constexpr int superseded = 1;

}  // namespace

void add(Survey* all, const Survey& one) {
  all->is_busy |= one.is_busy;
  all->sharers += one.sharers;
  all->puts += one.puts;
  all->newest = std::max(all->newest, one.newest);
  if (one.exclusive_node != 0) all->exclusive_node = one.exclusive_node;
}

Survey Lock::survey() {
  const platform::MutexLock held(mutex_);
  Survey found;
  for (Holding& each : holdings_) {
    if (each.state == State::in_flight) found.is_busy = 1;
    if (each.state == State::waiting) each.must_ask_again = true;
    if (each.state != State::held) continue;
    each.counted++;
    if (each.hold == Hold::shared) found.sharers++;
    if (each.hold == Hold::exclusive) found.exclusive_node = neighbours_.number() + 1u;
  }
  return found;
}

// A queue that is frozen by this node was left so by a recovery that failed here: whoever asks is
// the only thread of this node that recovers, or only orders it.
bool Lock::is_to_be_recovered(const LockWords& words) const {
  const Queue queue = unpack_queue(words.queue);
  if (queue.tail != frozen) return words.deaths_known != neighbours_.deaths();
  return queue.ticket == neighbours_.number() || neighbours_.is_gone(queue.ticket);
}

// One look: what was judged by it is what recover() swaps.
int Lock::recover_if_needed() {
  if (is_recovering_.exchange(true)) return 0;  // another thread does
  LockWords words;
  int error = look(&words);
  if (error == 0) is_left_frozen_ = false;  // or recover() finds it so again
  if (error == 0 && is_to_be_recovered(words)) error = recover(words);
  is_recovering_ = false;
  return error;
}

void Lock::order_recovery() {
  if (!is_recovery_ordered_.exchange(true)) neighbours_.order_recovery(key_);
}

// If it fails, whoever tries next orders it again; but nobody else can recover what this node has
// frozen.
void Lock::recover_as_ordered() {
  is_recovery_ordered_ = false;
  if (recover_if_needed() == DDSS_ETIMEDOUT && is_left_frozen_) order_recovery();
}

int Lock::recover(const LockWords& words) {
  const std::uint64_t deaths = neighbours_.deaths();
  std::uint64_t before = 0;
  int error = link_.swap(offset_ + queue_at, words.queue,
                         pack(Queue{frozen, neighbours_.number(), 0}), &before);
  if (error == 0 && before != words.queue) return 0;  // somebody else is at it
  Survey found;
  std::uint64_t begun = 0;
  if (error == 0 && repair_.look != nullptr) error = repair_.look(repair_.segment, &begun);
  if (error == 0) error = neighbours_.survey(key_, &found);
  if (error == 0) error = make_anew(found, begun, deaths);
  return error == 0 ? 0 : abandon_recovery(words.queue, error);
}

// Whom the survey found waiting has left a place in the queue, which may be in use again. So the
// lock is told of a death that was none: another recovery follows.
int Lock::abandon_recovery(std::uint64_t queue_before, int error) {
  const int undone = error == superseded ? error : set_queue(queue_before);
  std::uint64_t before = 0;
  const int told = link_.add(offset_ + deaths_at, 1, &before);
  if ((undone != 0 && undone != superseded) || told != 0) {
    is_left_frozen_ = true;
    order_recovery();
  }
  return error == superseded ? 0 : error;
}

// The queue last: with it the lock can be taken again.
int Lock::make_anew(const Survey& found, std::uint64_t begun, std::uint64_t deaths) {
  // Far from the tickets of all who still may try to swap what the queue was.
  constexpr std::uint64_t step = 0x4000;
  LockWords words;
  std::uint64_t queue_now = 0;
  int error = look(&words);
  if (error == 0) error = look_at_own_freeze(&queue_now);
  if (error != 0) return error;
  Turn turn = unpack_turn(words.turn);
  turn.epoch++;
  turn.over += step;
  const bool is_taken = found.exclusive_node != 0;
  const Queue queue{static_cast<std::uint16_t>(found.exclusive_node),
                    static_cast<std::uint16_t>(turn.ticket() + (is_taken ? 1 : 0)), found.sharers};
  const int repaired =
      repair_.repair != nullptr ? repair_.repair(repair_.segment, begun, found) : 0;
  if (repaired != DDSS_EBUSY) error = repaired;
  if (error == 0) error = set_word(gone_at, 0);
  if (error == 0 && repaired == 0) error = set_word(deaths_at, deaths);
  if (error == 0) error = set_word(turn_at, pack(turn));
  return error == 0 ? set_queue(pack(queue)) : error;
}

// `superseded` if the queue is not frozen by this node any more: another took it for dead. Those
// who ask to share count in the word meanwhile.
int Lock::look_at_own_freeze(std::uint64_t* queue) const {
  const int error = word(queue);
  const Queue is = unpack_queue(*queue);
  const bool is_own = is.tail == frozen && is.ticket == neighbours_.number();
  return error != 0 || is_own ? error : superseded;
}

// A word that was looked at before the freeze, which holds, has that value still, or the swap
// fails: each recovery has a turn of its own.
int Lock::set_word(std::size_t member, std::uint64_t value) const {
  for (;;) {
    std::uint64_t expected = 0, queue = 0, before = 0;
    int error = link_.get(offset_ + member, &expected);
    if (error == 0) error = look_at_own_freeze(&queue);
    if (error == 0) error = link_.swap(offset_ + member, expected, value, &before);
    if (error != 0 || before == expected) return error;
  }
}

int Lock::set_queue(std::uint64_t value) const {
  for (;;) {
    std::uint64_t queue = 0, before = 0;
    int error = look_at_own_freeze(&queue);
    if (error == 0) error = link_.swap(offset_ + queue_at, queue, value, &before);
    if (error != 0 || before == queue) return error;
  }
}

}  // namespace iw::ddss
