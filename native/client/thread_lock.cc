#include "client/thread_lock.h"

#include "platform/invariant.h"

namespace iw::client {

void ThreadLock::enter(Role role) {
  IW_INVARIANT(may_enter(role), "a thread took a role that another thread's role excludes");
  present_ |= table[static_cast<std::size_t>(role)].becomes;
}

void ThreadLock::leave(Role role) {
  const std::uint8_t bit = table[static_cast<std::size_t>(role)].becomes;
  IW_INVARIANT(bit != reads && (present_ & bit) != 0, "a thread left a role that it did not have");
  present_ &= static_cast<std::uint8_t>(~bit);
}

void ThreadLock::enter_reader(Role role, bool is_strict) {
  enter(role);
  ++readers_;
  if (is_strict) ++strict_readers_;
}

ThreadLock::Left ThreadLock::leave_reader(bool is_strict) {
  IW_INVARIANT(readers_ > 0, "a thread left a role that it did not have");
  Left left;
  left.was_last_strict = is_strict && --strict_readers_ == 0;
  left.was_last = --readers_ == 0;
  if (!left.was_last) return left;
  present_ &= static_cast<std::uint8_t>(~reads);
  left.wakes_others = waiting_ > 0;
  return left;
}

void ThreadLock::become_reader() {
  leave(Role::exclusive);
  enter_reader(Role::updated_reader, false);
}

void ThreadLock::begin_waiting() {
  ++waiting_;
  present_ |= waiting;
}

void ThreadLock::end_waiting() {
  IW_INVARIANT(waiting_ > 0, "a thread ended a wait that it had not begun");
  if (--waiting_ == 0) present_ &= static_cast<std::uint8_t>(~waiting);
}

}  // namespace iw::client
