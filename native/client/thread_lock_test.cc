// All orders in which a few threads read, ask, update, write and give late grants back [PROC-1,
// PROC-2]. Every step that any thread could take next is tried, from every world that can be
// reached. A thread may also stop waiting at any time.
#include "client/thread_lock.h"

#include <gtest/gtest.h>

#include <array>
#include <compare>
#include <cstdio>
#include <initializer_list>

#include "session/world_walk_fixture.h"

namespace iw::client {
namespace {

using Role = ThreadLock::Role;

enum class Job : std::uint8_t { none, read, read_strict, write, write_and_read };

enum class At : std::uint8_t {
  outside,
  asking,             // as asker; the answer brings an update or not
  waiting_to_update,  // as asker, too
  updating,
  updated,  // to become a reader
  reading,
  has_slot,  // asks the server for the writer lock
  waiting_to_write,
  writing,
  done,
};

constexpr std::size_t most_threads = 4;

struct World {
  ThreadLock lock;
  std::array<Job, most_threads> job{};
  std::array<At, most_threads> at{};
  // The library's thread.
  bool is_returning = false;
  bool is_returning_strict = false;
  int late_grants = 0;
  bool has_unused_strict = false;
  auto operator<=>(const World&) const = default;
};

class Walk : public session::WorldWalk<World> {
 private:
  static int count(const World& w, std::initializer_list<At> places) {
    int threads = 0;
    for (const At at : w.at) {
      for (const At place : places) threads += at == place ? 1 : 0;
    }
    return threads;
  }

  void check(const World& w) override {
    const int readers = count(w, {At::reading});
    const int alone = count(w, {At::updating, At::writing});
    const int waiting = count(w, {At::waiting_to_update, At::waiting_to_write});
    const int owners = count(w, {At::has_slot, At::waiting_to_write, At::writing});
    const int askers = count(w, {At::asking, At::waiting_to_update, At::updating}) +
                       (w.is_returning_strict ? 1 : 0);
    if (alone > 1) fail("two threads are exclusive");
    if (alone > 0 && readers > 0) fail("a thread reads while another is exclusive");
    if (askers > 1) fail("two threads ask the server");
    if (owners + (w.is_returning ? 1 : 0) > 1) fail("two threads speak of the writer lock");
    if (waiting > 0 && w.lock.may_enter(Role::reader)) fail("a newcomer passes a waiting thread");
    if (w.lock.has_readers() != (readers > 0)) fail("the readers are miscounted");
  }

  void try_steps(const World& world) override {
    for (std::size_t thread = 0; thread < most_threads; ++thread) {
      for (const bool brings_update : {false, true}) {
        try_step(world, [&](World& w) { step(w, thread, brings_update); });
      }
    }
    try_step(world, [](World& w) { return_late(w); });
    try_step(world, [](World& w) { return_strict(w); });
    for (std::size_t thread = 0; thread < most_threads; ++thread) {
      try_step(world, [&](World& w) { stop_waiting(w, thread); });
    }
  }

  void check_end(const World& w) override {
    for (const At at : w.at) {
      if (at != At::done) fail("a thread waits for ever");
    }
    if (w.lock != ThreadLock{}) fail("a role was not left");
    if (w.late_grants > 0 || w.has_unused_strict) fail("a lock of the server is not given back");
  }

  void step(World& w, std::size_t thread, bool brings_update) {
    const bool is_writer = w.job[thread] == Job::write || w.job[thread] == Job::write_and_read;
    switch (w.at[thread]) {
      case At::outside:
        return is_writer ? take_slot(w, thread) : begin_reading(w, thread, brings_update);
      case At::asking:
        if (brings_update) return wait_to_be_exclusive(w, thread, At::waiting_to_update);
        return stop_asking(w, thread);
      case At::has_slot:
        if (brings_update) return wait_to_be_exclusive(w, thread, At::waiting_to_write);
        w.late_grants = 1;  // the request was given up
        return leave_slot(w, thread);
      case At::waiting_to_update:
        return become_exclusive(w, thread, At::updating);
      case At::waiting_to_write:
        return become_exclusive(w, thread, At::writing);
      case At::updating:
        w.lock.leave(Role::exclusive);
        return stop_asking(w, thread);
      case At::updated:
        if (!w.lock.may_enter(Role::updated_reader)) {
          w.at[thread] = At::outside;
          return;
        }
        w.lock.enter_reader(Role::updated_reader, w.job[thread] == Job::read_strict);
        w.at[thread] = At::reading;
        return;
      case At::reading:
        return stop_reading(w, thread);
      case At::writing:
        return stop_writing(w, thread);
      case At::done:
        return;
    }
  }

  static void begin_reading(World& w, std::size_t thread, bool is_recent) {
    if (is_recent && w.job[thread] == Job::read && w.lock.may_enter(Role::reader)) {
      w.lock.enter_reader(Role::reader, false);
      w.at[thread] = At::reading;
    } else if (w.lock.may_enter(Role::asker)) {
      w.lock.enter(Role::asker);
      w.at[thread] = At::asking;
    }
  }

  static void stop_asking(World& w, std::size_t thread) {
    w.lock.leave(Role::asker);
    w.at[thread] = At::updated;
  }

  static void wait_to_be_exclusive(World& w, std::size_t thread, At next) {
    w.lock.begin_waiting();
    w.at[thread] = next;
  }

  static void become_exclusive(World& w, std::size_t thread, At next) {
    if (!w.lock.may_enter(Role::exclusive)) return;
    w.lock.end_waiting();
    w.lock.enter(Role::exclusive);
    w.at[thread] = next;
  }

  static void stop_reading(World& w, std::size_t thread) {
    const bool is_strict = w.job[thread] == Job::read_strict;
    if (w.lock.leave_reader(is_strict).was_last_strict) w.has_unused_strict = true;
    w.at[thread] = At::done;
  }

  static void take_slot(World& w, std::size_t thread) {
    if (!w.lock.may_enter(Role::writer)) return;
    w.lock.enter(Role::writer);
    w.late_grants = 0;  // its owner gives it back first
    w.at[thread] = At::has_slot;
  }

  static void leave_slot(World& w, std::size_t thread) {
    w.lock.leave(Role::writer);
    w.at[thread] = At::done;
  }

  static void stop_writing(World& w, std::size_t thread) {
    const bool goes_to_reading = w.job[thread] == Job::write_and_read;
    if (goes_to_reading) {
      w.lock.become_reader();
    } else {
      w.lock.leave(Role::exclusive);
    }
    leave_slot(w, thread);
    if (goes_to_reading) w.at[thread] = At::reading;
  }

  static void stop_waiting(World& w, std::size_t thread) {
    switch (w.at[thread]) {
      case At::outside:
        w.at[thread] = At::done;
        return;
      case At::waiting_to_update:
        w.lock.end_waiting();
        w.lock.leave(Role::asker);
        w.at[thread] = At::done;
        if (w.job[thread] == Job::read_strict) w.has_unused_strict = true;
        return;
      case At::waiting_to_write:
        w.lock.end_waiting();
        return leave_slot(w, thread);
      default:
        return;
    }
  }

  static void return_late(World& w) {
    if (w.is_returning) {
      w.is_returning = false;
      w.lock.leave(Role::returner);
    } else if (w.late_grants > 0 && w.lock.may_enter(Role::returner)) {
      w.late_grants = 0;
      w.is_returning = true;
      w.lock.enter(Role::returner);
    }
  }

  static void return_strict(World& w) {
    if (w.is_returning_strict) {
      w.is_returning_strict = false;
      w.lock.leave(Role::strict_returner);
    } else if (w.has_unused_strict && w.lock.may_enter(Role::strict_returner)) {
      w.has_unused_strict = false;
      if (w.lock.has_strict_readers()) return;
      w.is_returning_strict = true;
      w.lock.enter(Role::strict_returner);
    }
  }
};

void expect_good(const std::array<Job, most_threads>& jobs) {
  World world;
  world.job = jobs;
  for (std::size_t thread = 0; thread < most_threads; ++thread) {
    if (jobs[thread] == Job::none) world.at[thread] = At::done;
  }
  Walk walk;
  walk.from(world);
  std::printf("%zu worlds\n", walk.worlds());
  EXPECT_EQ(walk.failure(), "");
  EXPECT_GT(walk.worlds(), 100u);
}

TEST(ThreadLock, Proc1And2HoldInAllOrdersOfReadersAndAWriter) {
  expect_good({Job::read, Job::read, Job::write, Job::none});
}

TEST(ThreadLock, Proc1And2HoldInAllOrdersOfReadersAndTwoWriters) {
  expect_good({Job::read, Job::read, Job::write, Job::write_and_read});
}

TEST(ThreadLock, Proc1And2HoldInAllOrdersOfStrictReadersAndAWriter) {
  expect_good({Job::read_strict, Job::read_strict, Job::read, Job::write});
}

TEST(ThreadLock, AWaitingThreadHoldsBackNewReadersButNotTheOneThatBroughtTheUpdate) {
  ThreadLock lock;
  lock.enter_reader(Role::reader, false);
  EXPECT_FALSE(lock.may_enter(Role::exclusive));
  lock.begin_waiting();
  EXPECT_FALSE(lock.may_enter(Role::reader));
  EXPECT_FALSE(lock.may_enter(Role::asker));
  EXPECT_TRUE(lock.may_enter(Role::updated_reader));
  const ThreadLock::Left left = lock.leave_reader(false);
  EXPECT_TRUE(left.was_last);
  EXPECT_TRUE(left.wakes_others);
  EXPECT_TRUE(lock.may_enter(Role::exclusive));
}

TEST(ThreadLock, EachRoleWaitsForTheRolesOfItsRow) {
  struct Row {
    Role present;
    Role wanted;
  };
  const std::array<Row, 10> rows{{{Role::exclusive, Role::reader},
                                  {Role::exclusive, Role::updated_reader},
                                  {Role::exclusive, Role::asker},
                                  {Role::asker, Role::asker},
                                  {Role::asker, Role::strict_returner},
                                  {Role::exclusive, Role::exclusive},
                                  {Role::writer, Role::writer},
                                  {Role::returner, Role::writer},
                                  {Role::writer, Role::returner},
                                  {Role::returner, Role::returner}}};
  for (const Row& row : rows) {
    ThreadLock lock;
    EXPECT_TRUE(lock.may_enter(row.wanted));
    lock.enter(row.present);
    EXPECT_FALSE(lock.may_enter(row.wanted)) << static_cast<int>(row.wanted);
    lock.leave(row.present);
    EXPECT_TRUE(lock.may_enter(row.wanted));
  }
}

TEST(ThreadLock, TheLastStrictReaderIsToldSo) {
  ThreadLock lock;
  lock.enter_reader(Role::reader, true);
  lock.enter_reader(Role::reader, true);
  lock.enter_reader(Role::reader, false);
  EXPECT_FALSE(lock.leave_reader(true).was_last_strict);
  EXPECT_TRUE(lock.leave_reader(true).was_last_strict);
  EXPECT_FALSE(lock.leave_reader(false).was_last_strict);
  EXPECT_EQ(lock, ThreadLock{});
}

}  // namespace
}  // namespace iw::client
