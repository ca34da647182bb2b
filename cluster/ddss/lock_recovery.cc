// Making a lock anew, after a node died or a thread waited in vain; lock.h says when, and how it
// agrees with those who hold it and wait for it.
#include "ddss/lock.h"

namespace iw::ddss {

void Survey::add(const Survey& other) {
  is_busy |= other.is_busy;
  sharers += other.sharers;
  puts += other.puts;
  if (other.exclusive_node != 0) exclusive_node = other.exclusive_node;
}

Survey Lock::survey() {
  const std::lock_guard held(mutex_);
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

bool Lock::is_to_be_recovered(const LockWords& words) const {
  const Queue queue = unpack_queue(words.queue);
  if (queue.tail == frozen) return !neighbours_.is_present(queue.ticket);
  return words.deaths_known != neighbours_.deaths();
}

int Lock::recover_if_needed() {
  LockWords words;
  const int error = look(&words);
  return error != 0 || !is_to_be_recovered(words) ? error : recover();
}

// If it fails, whoever tries next orders it again.
void Lock::recover_as_ordered() {
  recover_if_needed();
  is_recovery_ordered_ = false;
}

int Lock::recover() {
  LockWords words;
  int error = look(&words);
  if (error != 0) return error;
  const std::uint64_t deaths = neighbours_.deaths();
  std::uint64_t before = 0;
  error = link_.swap(offset_ + queue_at, words.queue, pack(Queue{frozen, neighbours_.number(), 0}),
                     &before);
  if (error != 0 || before != words.queue) return error;  // or somebody else is at it
  Survey found;
  std::uint64_t begun = 0;
  if (repair_.look != nullptr) error = repair_.look(repair_.segment, &begun);
  if (error == 0) error = neighbours_.survey(key_, &found);
  if (error == 0) error = make_anew(found, begun, deaths);
  if (error != 0) set_word(queue_at, words.queue);
  return error;
}

// The queue last: with it the lock can be taken again.
int Lock::make_anew(const Survey& found, std::uint64_t begun, std::uint64_t deaths) {
  // Far from the tickets of all who still may try to swap what the queue was.
  constexpr std::uint64_t step = 0x4000;
  LockWords words;
  int error = look(&words);
  Turn turn = unpack_turn(words.turn);
  turn.epoch++;
  turn.over += step;
  const bool is_taken = found.exclusive_node != 0;
  const Queue queue{static_cast<std::uint16_t>(found.exclusive_node),
                    static_cast<std::uint16_t>(turn.ticket() + (is_taken ? 1 : 0)), found.sharers};
  const int repaired =
      repair_.repair != nullptr ? repair_.repair(repair_.segment, begun, found) : 0;
  if (error == 0 && repaired != DDSS_EBUSY) error = repaired;
  if (error == 0) error = set_word(gone_at, 0);
  if (error == 0 && repaired == 0) error = set_word(deaths_at, deaths);
  if (error == 0) error = set_word(turn_at, pack(turn));
  return error == 0 ? set_word(queue_at, pack(queue)) : error;
}

int Lock::set_word(std::size_t member, std::uint64_t value) const {
  std::uint64_t expected = 0;
  int error = link_.get(offset_ + member, &expected);
  while (error == 0) {
    std::uint64_t before = 0;
    error = link_.swap(offset_ + member, expected, value, &before);
    if (before == expected) return error;
    expected = before;
  }
  return error;
}

}  // namespace iw::ddss
