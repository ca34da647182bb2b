// Which threads of this process may read or write the cached copy of a segment, ask the server
// about it, or own its writer slot [PROC-1, PROC-2]. This lock knows no server.
//
// Pure: no mutex, no condition, no clock. Segment calls it with its mutex held. When may_enter() is
// false, the thread waits for Segment's condition and asks again.
//
// The table. A thread may take a role while no thread has a role of the third column. "Waiting"
// are the threads that wait to be exclusive: they hold back new readers.
//
//   role             threads   waits while there is            why it is taken
//   reader           many      exclusive, waiting              to read the copy
//   updated_reader   many      exclusive                       the same, after its own update
//   asker            one       asker, exclusive, waiting       to ask the server for an update
//   strict_returner  (asker)   asker                           to give the Strict lock back
//   exclusive        one       reader, exclusive               to write, or to apply an update
//   writer           one       writer, returner                to want and have the writer lock
//   returner         one       writer, returner                to give back a grant that came late
//
// thread_lock_test.cc walks all orders in which a few threads take and leave these roles.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "platform/invariant.h"

namespace iw::client {

class ThreadLock {
 public:
  enum class Role : std::uint8_t {
    reader,
    updated_reader,
    asker,
    strict_returner,
    exclusive,
    writer,
    returner,
  };

  [[nodiscard]] bool may_enter(Role role) const { return (present_ & row(role).waits_for) == 0; }
  // REQUIRES: may_enter(role).
  void enter(Role role) {
    IW_INVARIANT(may_enter(role), "a thread took a role that another thread's role excludes");
    present_ |= row(role).becomes;
  }
  // Leaves a role other than reader and updated_reader. A thread may be waiting for that.
  void leave(Role role) {
    const std::uint8_t bit = row(role).becomes;
    IW_INVARIANT(bit != reads && (present_ & bit) != 0,
                 "a thread left a role that it did not have");
    present_ &= static_cast<std::uint8_t>(~bit);
  }

  // A reader for whom the server keeps a Strict lock is counted among the strict readers, too.
  void enter_reader(Role role, bool is_strict) {
    enter(role);
    ++readers_;
    if (is_strict) ++strict_readers_;
  }
  struct Left {
    bool wakes_others = false;     // a thread waits to be exclusive, and nobody reads any more
    bool was_last = false;         // nobody reads any more
    bool was_last_strict = false;  // no strict reader is left
  };
  [[nodiscard]] Left leave_reader(bool is_strict) {
    IW_INVARIANT(readers_ > 0, "a thread left a role that it did not have");
    Left left;
    left.was_last_strict = is_strict && --strict_readers_ == 0;
    left.was_last = --readers_ == 0;
    if (!left.was_last) return left;
    present_ &= static_cast<std::uint8_t>(~reads);
    left.wakes_others = waiting_ > 0;
    return left;
  }
  // The exclusive thread becomes a reader; no other thread gets in between.
  void become_reader() {
    leave(Role::exclusive);
    enter_reader(Role::updated_reader, false);
  }

  // Between these, the thread is one of those that wait to be exclusive.
  void begin_waiting() {
    ++waiting_;
    present_ |= waiting;
  }
  void end_waiting() {
    IW_INVARIANT(waiting_ > 0, "a thread ended a wait that it had not begun");
    if (--waiting_ == 0) present_ &= static_cast<std::uint8_t>(~waiting);
  }

  [[nodiscard]] bool has_readers() const { return readers_ > 0; }
  [[nodiscard]] bool has_strict_readers() const { return strict_readers_ > 0; }
  [[nodiscard]] bool has(Role role) const { return (present_ & row(role).becomes) != 0; }

  friend auto operator<=>(const ThreadLock&, const ThreadLock&) = default;

 private:
  // Bits of present_.
  static constexpr std::uint8_t reads = 1;
  static constexpr std::uint8_t asks = 2;
  static constexpr std::uint8_t alone = 4;
  static constexpr std::uint8_t waiting = 8;
  static constexpr std::uint8_t slot = 16;
  static constexpr std::uint8_t returns = 32;

  struct Row {
    std::uint8_t becomes;
    std::uint8_t waits_for;
  };
  // By role; as above.
  static constexpr Row table[] = {
      {reads, alone | waiting},        // reader
      {reads, alone},                  // updated_reader
      {asks, asks | alone | waiting},  // asker
      {asks, asks},                    // strict_returner
      {alone, reads | alone},          // exclusive
      {slot, slot | returns},          // writer
      {returns, slot | returns},       // returner
  };

  static const Row& row(Role role) { return table[static_cast<std::size_t>(role)]; }

  std::uint8_t present_ = 0;
  std::uint32_t readers_ = 0;
  std::uint32_t strict_readers_ = 0;
  std::uint32_t waiting_ = 0;
};

}  // namespace iw::client
