// All orders in which threads open, use and close a segment while its connection is lost, its
// server answers late, comes back without it, or removes it [OPEN-1, OPEN-2, LOST-4, GONE-1].
//
// A world is a few threads (each opens, uses, closes), one machine, and a server that handles the
// messages of a connection in their order. Every step that anybody could take next is tried, from
// every world that can be reached.
#include "session/opening.h"

#include <gtest/gtest.h>

#include <array>
#include <compare>
#include <string>
#include <vector>

#include "session/world_walk_fixture.h"

namespace iw::session {
namespace {

using Stage = Opening::Stage;
using Step = Opening::Step;
using Close = Opening::Close;

constexpr int library_thread = 3;
constexpr int segment_gone = -1;
constexpr int thread_count = 3;

enum class At {
  before,
  asking_to_open,  // OPEN_SEGMENT sent
  inside,
  asking_to_use,
  closing,
  alone,  // the last, with no thread inside a lock
  dropping,
  telling,
  done,
};

struct Asked {
  bool opens = false;
  int thread = 0;
  auto operator<=>(const Asked&) const = default;
};

struct World {
  Opening machine;
  std::array<At, thread_count + 1> at{};
  std::array<ConnectionNumber, thread_count + 1> asked_on{};
  std::array<bool, thread_count + 1> is_answered{};
  ConnectionNumber live = 1;
  std::vector<Asked> requests;  // on the live connection
  std::vector<int> answers;     // to OPEN_SEGMENT, or SEGMENT_GONE, likewise
  bool server_has_it_open = false;
  bool is_loss_untold = false;
  bool has_copy = false;
  int losses_left = 0;
  int timeouts_left = 0;
  int removals_left = 0;
  bool comes_back_empty = false;
  auto operator<=>(const World&) const = default;
};

class Walk : public WorldWalk<World> {
 private:
  void try_steps(const World& world) override {
    for (int thread = 0; thread <= library_thread; ++thread) {
      try_step(world, [&](World& next) { step(next, thread); });
      try_step(world, [&](World& next) { time_out(next, thread); });
    }
    try_step(world, [&](World& next) { serve(next); });
    try_step(world, [&](World& next) { answer(next); });
    try_step(world, [&](World& next) { lose(next); });
    try_step(world, [&](World& next) { remove(next); });
    try_step(world, [&](World& next) { tell_of_loss(next); });
  }

  void check_end(const World& world) override {
    for (int thread = 0; thread < thread_count; ++thread) {
      if (world.at[thread] != At::done) fail("a thread waits for ever");
    }
    if (world.machine.users() != 0) fail("opened more often than closed");
    if (world.has_copy) fail("the copy stayed");
    if (world.server_has_it_open) fail("the server still has it open");
    if (world.machine.is_lost()) return;
    if (world.machine.stage() != Stage::shut) fail("it did not end shut");
  }

  void step(World& w, int thread) {
    switch (w.at[thread]) {
      case At::before:
        return open(w, thread);
      case At::asking_to_open:
      case At::asking_to_use:
        return take_answer(w, thread);
      case At::inside:
        return use(w, thread);
      case At::closing:
        return close(w, thread);
      case At::alone:
        return end(w, thread);
      case At::dropping:
        if (thread != library_thread) w.has_copy = false;
        return tell(w, thread);
      case At::telling:
        w.machine.told(w.asked_on[thread]);
        return tell(w, thread);
      case At::done:
        return;
    }
  }

  void tell(World& w, int thread) {
    if (!w.machine.must_tell()) {
      w.machine.ended();
      w.at[thread] = At::done;
      return;
    }
    w.asked_on[thread] = w.machine.connection();
    if (w.asked_on[thread] == w.live) w.requests.push_back({false, thread});
    w.at[thread] = At::telling;
  }

  void send_open(World& w, int thread, At next) {
    w.requests.push_back({true, thread});
    w.asked_on[thread] = w.live;
    w.at[thread] = next;
  }

  void open(World& w, int thread) {
    switch (w.machine.open(w.live)) {
      case Step::ready:
        w.machine.joined();
        w.has_copy = true;
        w.at[thread] = At::inside;
        return;
      case Step::send:
        return send_open(w, thread, At::asking_to_open);
      case Step::lost:
        w.at[thread] = At::done;
        return;
      case Step::wait:
        return;
      case Step::not_open:
        fail("an opening was told NOT_OPEN");
    }
  }

  void use(World& w, int thread) {
    if (!w.has_copy) fail("the copy is gone under a thread that has it open");
    switch (w.machine.use(w.live)) {
      case Step::ready:
      case Step::lost:
        w.at[thread] = At::closing;
        return;
      case Step::send:
        return send_open(w, thread, At::asking_to_use);
      case Step::wait:
        return;
      case Step::not_open:
        fail("a thread that has it open was told NOT_OPEN");
    }
  }

  void take_answer(World& w, int thread) {
    const bool is_opening = w.at[thread] == At::asking_to_open;
    if (w.is_answered[thread]) {
      w.is_answered[thread] = false;
      if (w.asked_on[thread] > 1 && w.comes_back_empty && w.has_copy) {
        w.machine.opened(w.asked_on[thread]);  // with less than the copy has
        w.machine.vanished();
        w.at[thread] = is_opening ? At::done : At::closing;
        w.at[library_thread] = At::dropping;
        return;
      }
      // In one moment, as the thread that opens it does it.
      w.machine.opened(w.asked_on[thread]);
      w.at[thread] = is_opening ? At::before : At::inside;
      if (is_opening) open(w, thread);
      return;
    }
    if (w.asked_on[thread] == w.live) return;
    w.machine.refused();  // the connection was lost
    w.at[thread] = is_opening ? At::before : At::inside;
  }

  // The thread gives its OPEN_SEGMENT up; the answer comes late.
  void time_out(World& w, int thread) {
    if (w.timeouts_left == 0 || w.is_answered[thread]) return;
    if (w.at[thread] != At::asking_to_open && w.at[thread] != At::asking_to_use) return;
    --w.timeouts_left;
    w.machine.refused();
    w.at[thread] = w.at[thread] == At::asking_to_open ? At::done : At::closing;
  }

  void close(World& w, int thread) {
    if (!w.has_copy) fail("the copy is gone under a thread that closes it");
    switch (w.machine.close()) {
      case Close::counted:
        w.at[thread] = At::done;
        return;
      case Close::last:
        w.at[thread] = At::alone;
        return;
      case Close::wait:
        return;
      case Close::not_open:
        fail("a close was told NOT_OPEN");
    }
  }

  void end(World& w, int thread) {
    switch (w.machine.end()) {
      case Close::counted:
        w.at[thread] = At::done;
        return;
      case Close::last:
        w.at[thread] = At::dropping;
        return;
      case Close::wait:
        w.at[thread] = At::closing;
        return;
      case Close::not_open:
        fail("the last close was told NOT_OPEN");
    }
  }

  void serve(World& w) {
    if (w.requests.empty()) return;
    const Asked message = w.requests.front();
    w.requests.erase(w.requests.begin());
    w.server_has_it_open = message.opens;
    if (message.opens) w.answers.push_back(message.thread);
  }

  void answer(World& w) {
    if (w.answers.empty()) return;
    const int thread = w.answers.front();
    w.answers.erase(w.answers.begin());
    if (thread == segment_gone) return hear_of_removal(w);
    const bool is_awaited = w.at[thread] == At::asking_to_open || w.at[thread] == At::asking_to_use;
    if (is_awaited && w.asked_on[thread] == w.live) {
      w.is_answered[thread] = true;
    } else if (w.machine.opened_late(w.live)) {
      w.at[library_thread] = At::dropping;
    }
  }

  // By another client. The server keeps the number until CLOSE_SEGMENT.
  void remove(World& w) {
    if (w.removals_left == 0 || !w.server_has_it_open) return;
    --w.removals_left;
    w.answers.push_back(segment_gone);
  }

  // After CLOSE_SEGMENT nobody listens for the number any more.
  void hear_of_removal(World& w) {
    if (!w.machine.is_open() || w.machine.connection() != w.live) return;
    w.machine.vanished();
    if (!w.machine.must_tell()) return;
    w.at[library_thread] = At::dropping;
  }

  void lose(World& w) {
    if (w.losses_left == 0) return;
    --w.losses_left;
    ++w.live;
    w.requests.clear();
    w.answers.clear();
    w.server_has_it_open = false;
    w.is_loss_untold = true;
  }

  void tell_of_loss(World& w) {
    if (!w.is_loss_untold) return;
    w.is_loss_untold = false;
    (void)w.machine.connection_lost(w.live - 1);
  }
};

World beginning() {
  World world;
  world.at.fill(At::before);
  world.at[library_thread] = At::done;
  return world;
}

void expect_good_from(const World& world) {
  Walk walk;
  walk.from(world);
  EXPECT_EQ(walk.failure(), "");
  EXPECT_GT(walk.worlds(), 100u);
}

TEST(Opening, Open1And2HoldInAllOrdersOfThreeThreads) { expect_good_from(beginning()); }

TEST(Opening, Open1And2HoldInAllOrdersWithALostConnection) {
  World world = beginning();
  world.losses_left = 1;
  expect_good_from(world);
}

TEST(Opening, Open2HoldsInAllOrdersWithALateAnswer) {
  World world = beginning();
  world.timeouts_left = 1;
  expect_good_from(world);
}

TEST(Opening, Open1And2HoldInAllOrdersWithALostConnectionAndALateAnswer) {
  World world = beginning();
  world.at[2] = At::done;
  world.losses_left = 1;
  world.timeouts_left = 1;
  expect_good_from(world);
}

TEST(Opening, Lost4HoldsInAllOrdersOfAServerThatComesBackWithoutTheSegment) {
  World world = beginning();
  world.losses_left = 1;
  world.comes_back_empty = true;
  expect_good_from(world);
}

TEST(Opening, Gone1HoldsInAllOrdersOfARemoval) {
  World world = beginning();
  world.removals_left = 1;
  expect_good_from(world);
}

TEST(Opening, Gone1HoldsInAllOrdersOfARemovalALostConnectionAndALateAnswer) {
  World world = beginning();
  world.at[2] = At::done;
  world.removals_left = 1;
  world.losses_left = 1;
  world.timeouts_left = 1;
  expect_good_from(world);
}

TEST(Opening, Open3AThreadThatClosesTooOftenIsTold) {
  Opening machine;
  EXPECT_EQ(machine.close(), Close::not_open);
  ASSERT_EQ(machine.open(1), Step::send);
  machine.opened(1);
  ASSERT_EQ(machine.open(1), Step::ready);
  machine.joined();
  // Two threads close what was opened once.
  ASSERT_EQ(machine.close(), Close::last);
  ASSERT_EQ(machine.close(), Close::last);
  ASSERT_EQ(machine.end(), Close::last);
  EXPECT_TRUE(machine.must_tell());
  EXPECT_EQ(machine.end(), Close::not_open);
  machine.told(1);
  machine.ended();
  EXPECT_EQ(machine.use(1), Step::not_open);
}

TEST(Opening, AnOldConnectionsLossDoesNotCount) {
  Opening machine;
  ASSERT_EQ(machine.open(1), Step::send);
  machine.opened(1);
  machine.joined();
  ASSERT_EQ(machine.use(2), Step::send);
  machine.opened(2);
  EXPECT_FALSE(machine.connection_lost(1));
  EXPECT_EQ(machine.use(2), Step::ready);
  EXPECT_TRUE(machine.connection_lost(2));
  EXPECT_EQ(machine.stage(), Stage::away);
}

TEST(Opening, PointersKeepASegmentOpenUntilAnOpeningOfItIsClosed) {
  Opening machine;
  ASSERT_EQ(machine.open_for_pointers(1), Step::send);
  machine.opened(1);
  machine.pointed_at();
  EXPECT_EQ(machine.use(1), Step::ready);
  EXPECT_FALSE(machine.end_unwanted());
  ASSERT_EQ(machine.open(1), Step::ready);
  machine.joined();
  ASSERT_EQ(machine.close(), Close::last);
  ASSERT_EQ(machine.end(), Close::last);
  machine.told(1);
  machine.ended();
  EXPECT_EQ(machine.use(1), Step::not_open);
}

TEST(Opening, WhatNobodyJoinedIsClosedAgain) {
  Opening machine;
  ASSERT_EQ(machine.open(1), Step::send);
  machine.opened(1);
  EXPECT_TRUE(machine.end_unwanted());
  EXPECT_TRUE(machine.must_tell());
  EXPECT_EQ(machine.open(1), Step::wait);
  machine.told(1);
  machine.ended();
  EXPECT_EQ(machine.open(1), Step::send);
}

TEST(Opening, Lost4ALossThatIsFoundWhileItIsReopenedStays) {
  for (const bool is_granted : {false, true}) {
    Opening machine;
    ASSERT_EQ(machine.open(1), Step::send);
    machine.opened(1);
    machine.joined();
    EXPECT_TRUE(machine.connection_lost(1));
    ASSERT_EQ(machine.use(2), Step::send);
    machine.vanished();  // by a thread that applied an update
    if (is_granted) {
      machine.opened(2);
    } else {
      machine.refused();
    }
    EXPECT_TRUE(machine.is_lost());
    EXPECT_EQ(machine.use(2), Step::lost);
  }
}

}  // namespace
}  // namespace iw::session
