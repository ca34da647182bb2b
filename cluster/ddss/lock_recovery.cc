// Recovering a lock after a node died or a thread waited in vain. lock.h says when, and how the
// recovery agrees with threads that hold the lock or wait for it.
#include <algorithm>

#include "ddss/lock.h"
#include "platform/mutex.h"

namespace iw::ddss {
namespace {

// A recovery's result: another node recovers the lock. Errors are below 0.
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

// If this node has frozen the queue, a recovery failed here and left it so, because the caller is
// the only thread of this node that recovers. A caller that only orders a recovery may be wrong
// about this. Then the recovery that it ordered does nothing.
bool Lock::is_to_be_recovered(const LockWords& words) const {
  const Queue queue = unpack_queue(words.queue);
  if (queue.tail != frozen) return words.deaths_known != neighbours_.deaths();
  return queue.ticket == neighbours_.number() || neighbours_.is_gone(queue.ticket);
}

// Looks once, because recover() may swap only the queue that was judged.
int Lock::recover_if_needed() {
  if (is_recovering_.exchange(true)) return 0;  // another thread recovers it
  LockWords words;
  int error = look(&words);
  if (error == 0) is_left_frozen_ = false;  // abandon_recovery() may set it again
  if (error == 0 && is_to_be_recovered(words)) error = recover(words);
  is_recovering_ = false;
  return error;
}

void Lock::order_recovery() {
  if (!is_recovery_ordered_.exchange(true)) neighbours_.order_recovery(key_);
}

// If a recovery fails, the next thread that tries the lock orders another one. But a queue that
// this node has frozen only this node can recover, so it orders that itself.
void Lock::recover_as_ordered() {
  is_recovery_ordered_ = false;
  if (recover_if_needed() == DDSS_ETIMEDOUT && is_left_frozen_) order_recovery();
}

int Lock::recover(const LockWords& words) {
  const std::uint64_t deaths = neighbours_.deaths();
  std::uint64_t before = 0;
  int error = link_.swap(offset_ + queue_at, words.queue,
                         pack(Queue{frozen, neighbours_.number(), 0}), &before);
  if (error == 0 && before != words.queue) return 0;  // another node has changed it
  Survey found;
  std::uint64_t begun = 0;
  if (error == 0 && repair_.look != nullptr) error = repair_.look(repair_.segment, &begun);
  if (error == 0) error = neighbours_.survey(key_, &found);
  if (error == 0) error = make_anew(found, begun, deaths);
  return error == 0 ? 0 : abandon_recovery(words.queue, error);
}

// A thread that the survey found waiting leaves its place in the queue, which may be in use again.
// So deaths_known changes, as if a node had died, and another recovery follows [DDSS-LOCK-8].
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

// Sets the queue last, because the lock can be taken from then on.
int Lock::make_anew(const Survey& found, std::uint64_t begun, std::uint64_t deaths) {
  // Far from all tickets with which a thread may still try to swap the old queue.
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

// `superseded`: the queue is not frozen by this node any more, because another node took this one
// for dead. Reads the queue anew because requests to share still add to it.
int Lock::look_at_own_freeze(std::uint64_t* queue) const {
  const int error = word(queue);
  const Queue is = unpack_queue(*queue);
  const bool is_own = is.tail == frozen && is.ticket == neighbours_.number();
  return error != 0 || is_own ? error : superseded;
}

// Reads the word, then looks whether the freeze still holds, then swaps. If another recovery
// changed the word in between, the swap fails, because each recovery sets another turn.
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
