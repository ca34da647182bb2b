// A lock that several nodes recover at once. Pauses let one node act within another's recovery.
// Threads of this process play the nodes, each with a Lock of its own on the same words. The number
// of nodes inside the lock is noted outside of DDSS.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <set>
#include <thread>

#include "ddss/lock.h"
#include "ddss/members.h"
#include "fabric/fabric_fixture.h"

namespace iw::ddss {
namespace {

using fabric_tests::Process;
using fabric_tests::soon;

constexpr std::uint64_t a_death = 2;
constexpr int nodes = 3;

// A place at which a thread waits once, until the test lets it continue.
class Pause {
 public:
  void operator()() {
    if (is_over_.test_and_set()) return;
    reached_.test_and_set();
    reached_.notify_all();
    go_.wait(false);
  }
  void await() { reached_.wait(false); }
  void end() {
    is_over_.test_and_set();
    go_.test_and_set();
    go_.notify_all();
  }

 private:
  std::atomic_flag is_over_, reached_, go_;
};

class PlayedNode final : public Neighbours {
 public:
  PlayedNode(NodeNumber number, const std::deque<PlayedNode>& all, const NodeLink& link)
      : lock(*this, 1, link, 0), number_(number), all_(all) {}

  NodeNumber number() const override { return number_; }
  std::uint64_t deaths() const override {
    if (on_deaths) on_deaths();
    return known_deaths;
  }
  bool is_gone(NodeNumber number) const override { return gone.contains(number); }
  int survey(Key, Survey* found) override {
    if (before_survey) before_survey();
    for (const PlayedNode& each : all_) {
      Survey one;
      do {
        one = const_cast<PlayedNode&>(each).lock.survey();
      } while (one.is_busy != 0);
      add(found, one);
    }
    if (after_survey) after_survey();
    return survey_result;
  }
  void order_recovery(Key) override {}
  int store(const Descriptor&, std::uint64_t, std::span<const std::byte>) override { return 0; }

  std::uint64_t known_deaths = 0;
  std::set<NodeNumber> gone;
  int survey_result = 0;
  std::function<void()> on_deaths, before_survey, after_survey;
  Lock lock;

 private:
  const NodeNumber number_;
  const std::deque<PlayedNode>& all_;
};

class Recovery : public fabric_tests::OverTransports {
 protected:
  Recovery() {
    fabric::Status status;
    home_ = here_.fabric->add_worker(&status);
    memory_ = here_.fabric->allocate(4096, &status);
    const fabric::PeerId peer = here_.connect(home_->address());
    window_ = here_.worker->open(peer, memory_->key(), &status);
    EXPECT_EQ(status, fabric::Status::ok);
    link_ = NodeLink{here_.worker.get(), peer, window_.get(), std::chrono::seconds(50)};
    for (NodeNumber i = 0; i < nodes; i++) nodes_.emplace_back(i, nodes_, link_);
  }

  void everybody_hears_of_a_death() {
    for (PlayedNode& each : nodes_) each.known_deaths += a_death;
  }
  // These two note who is inside.
  void take(PlayedNode& node) {
    EXPECT_EQ(node.lock.acquire(Hold::exclusive), 0);
    EXPECT_EQ(inside_.fetch_add(1), 0) << "two are inside";
  }
  void let_go(PlayedNode& node) {
    inside_.fetch_sub(1);
    EXPECT_EQ(node.lock.release(), 0);
  }
  void everybody_takes_it_in_turn() {
    for (PlayedNode& each : nodes_) {
      take(each);
      let_go(each);
    }
  }
  std::uint16_t asked_for() {
    std::uint64_t word = 0;
    EXPECT_EQ(nodes_[0].lock.word(&word), 0);
    return unpack_queue(word).ticket;
  }

  Process here_;
  std::unique_ptr<fabric::Worker> home_;
  std::unique_ptr<fabric::Memory> memory_;
  std::unique_ptr<fabric::Window> window_;
  NodeLink link_;
  std::deque<PlayedNode> nodes_;
  std::atomic<int> inside_{0};
};
OVER_TRANSPORTS(Recovery, "shm", "tcp");

// The second node has looked before the first one freezes the lock.
// [DDSS-LOCK-6]
TEST_P(Recovery, IsDoneByOneOfTwoThatFoundItDue) {
  PlayedNode &first = nodes_[0], &second = nodes_[1], &other = nodes_[2];
  Pause has_looked, first_has_asked, second_has_asked;
  second.on_deaths = std::ref(has_looked);
  first.after_survey = std::ref(first_has_asked);
  second.after_survey = std::ref(second_has_asked);
  everybody_hears_of_a_death();
  std::atomic_flag second_is_past;
  second.before_survey = [&] { second_is_past.test_and_set(), second_is_past.notify_all(); };
  std::thread late([&] {
    EXPECT_EQ(second.lock.recover_if_needed(), 0);
    second.before_survey();
  });
  has_looked.await();
  std::thread early([&] { EXPECT_EQ(first.lock.recover_if_needed(), 0); });
  first_has_asked.await();
  has_looked.end();
  second_is_past.wait(false);
  first_has_asked.end();
  early.join();
  take(other);
  second_has_asked.end();
  late.join();
  EXPECT_EQ(second.lock.try_acquire(Hold::exclusive), DDSS_EBUSY);
  EXPECT_EQ(second.lock.try_acquire(Hold::shared), DDSS_EBUSY);
  let_go(other);
  everybody_takes_it_in_turn();
}

// A node that recovers is taken for dead, and is not.
class RecoveryTakenOver : public Recovery {
 protected:
  // Afterwards node 0 has frozen the lock, and node 1 has recovered it.
  void begin(std::function<void()>* where) {
    *where = std::ref(pause_);
    everybody_hears_of_a_death();
    slow_ = std::thread([this] { slow_result_ = nodes_[0].lock.recover_if_needed(); });
    pause_.await();
    nodes_[1].gone.insert(0);
    EXPECT_EQ(nodes_[1].lock.recover_if_needed(), 0);
  }
  int end() {
    pause_.end();
    slow_.join();
    return slow_result_;
  }

 private:
  Pause pause_;
  std::thread slow_;
  int slow_result_ = 0;
};
OVER_TRANSPORTS(RecoveryTakenOver, "shm", "tcp");

// [DDSS-LOCK-6]
TEST_P(RecoveryTakenOver, ChangesNothingMore) {
  begin(&nodes_[0].after_survey);
  take(nodes_[2]);
  EXPECT_EQ(end(), 0);
  EXPECT_EQ(nodes_[1].lock.try_acquire(Hold::exclusive), DDSS_EBUSY);
  let_go(nodes_[2]);
  everybody_takes_it_in_turn();
}

// [DDSS-LOCK-8]
TEST_P(RecoveryTakenOver, UndoesNothingWhenItFails) {
  nodes_[0].survey_result = DDSS_ETIMEDOUT;
  begin(&nodes_[0].after_survey);
  take(nodes_[2]);
  EXPECT_EQ(end(), DDSS_ETIMEDOUT);
  nodes_[0].survey_result = 0;
  EXPECT_EQ(nodes_[1].lock.try_acquire(Hold::exclusive), DDSS_EBUSY);
  let_go(nodes_[2]);
  everybody_takes_it_in_turn();
}

// The slow node tells a waiter to ask again, and the waiter leaves its place in the new queue.
TEST_P(RecoveryTakenOver, LeavesNoPlaceInTheQueueThatNobodyTakes) {
  begin(&nodes_[0].before_survey);
  take(nodes_[2]);
  const std::uint16_t before = asked_for();
  std::thread waiter([&] {
    take(nodes_[1]);
    let_go(nodes_[1]);
  });
  while (asked_for() == before) std::this_thread::yield();
  EXPECT_EQ(end(), 0);
  let_go(nodes_[2]);
  waiter.join();
  everybody_takes_it_in_turn();
}

// [DDSS-LOCK-8]
TEST_P(Recovery, IsDoneAgainByANodeThatCouldNotUndoIt) {
  std::uint64_t before = 0;
  ASSERT_EQ(link_.swap(queue_at, 0, pack(Queue{frozen, 1, 0}), &before), 0);
  EXPECT_EQ(nodes_[0].lock.try_acquire(Hold::exclusive), DDSS_EBUSY);
  take(nodes_[1]);
  let_go(nodes_[1]);
  everybody_takes_it_in_turn();
}

// An unknown node with a higher number may have frozen a lock. One with a lower number would be
// known.
TEST_P(Recovery, TakesNobodyForDeadWhoIsNotKnownYet) {
  Members members(*here_.worker, std::chrono::seconds(50));
  members.add(5, here_.worker->address(), {});
  members.note_joined(5, 0);
  EXPECT_TRUE(members.is_gone(4));
  EXPECT_FALSE(members.is_gone(6));
  members.note_gone(6);
  EXPECT_TRUE(members.is_gone(6));
}

}  // namespace
}  // namespace iw::ddss
