// A server comes back without what this process had of a segment: told, by every lock, until the
// segment is opened again [LOST-1..6].
#include <gtest/gtest.h>

#include <thread>
#include <utility>

#include "abi/tests/restarting.h"

namespace iw::test {
namespace {

class LostSegment : public Restarting {
 protected:
  explicit LostSegment(Store store = Store::in_memory) : Restarting(store) {}

  void expect_lost(IW_handle_t segment, const int* numbers) {
    for (const auto& [model, x] : {std::pair{IW_FULL, 0.0}, std::pair{IW_NULL, 0.0},
                                   std::pair{IW_TEMPORAL, 3600.0}, std::pair{IW_STRICT, 0.0}}) {
      ASSERT_EQ(IW_set_coherence(segment, model, x), 0);
      EXPECT_EQ(IW_rl_acquire(segment), IW_ESEGMENT_LOST) << model << " " << IW_strerror();
    }
    EXPECT_EQ(IW_wl_acquire(segment), IW_ESEGMENT_LOST) << IW_strerror();
    EXPECT_EQ(IW_refresh(segment), IW_ESEGMENT_LOST) << IW_strerror();
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(numbers[i], 7) << i;
  }
};

class LostSegmentOnDisk : public LostSegment {
 protected:
  LostSegmentOnDisk() : LostSegment(Store::on_disk) {}
};

TEST_F(LostSegment, Lost1AndLost4AWriterOfARestartedMemoryServerIsToldByEveryLock) {
  const IW_handle_t segment = open_with_numbers(IW_MEMORY);
  restart();
  EXPECT_EQ(IW_wl_acquire(segment), IW_ESEGMENT_LOST) << IW_strerror();
  expect_lost(segment, numbers_);
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
}

TEST_F(LostSegment, Lost1ReopeningDoesNotMakeTheSegmentAnew) {
  const IW_handle_t segment = open_with_numbers(IW_MEMORY);
  restart();
  EXPECT_EQ(IW_rl_acquire(segment), IW_ESEGMENT_LOST) << IW_strerror();
  EXPECT_EQ(open(IW_MEMORY, 0), nullptr);
  EXPECT_EQ(IW_errno(), IW_ENO_SEGMENT) << IW_strerror();
  expect_lost(segment, numbers_);
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
}

TEST_F(LostSegment, Lost4AHeldWriterLockIsRolledBackByItsRelease) {
  const IW_handle_t segment = open_with_numbers(IW_MEMORY);
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  numbers_[5] = 8;
  restart();
  EXPECT_EQ(IW_wl_release(segment), IW_ESEGMENT_LOST) << IW_strerror();
  EXPECT_EQ(IW_wl_release(segment), IW_ENO_LOCK);
  expect_lost(segment, numbers_);
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
}

TEST_F(LostSegment, Lost4AndLost5AReaderLockThatIsHeldGoesOn) {
  const IW_handle_t segment = open_with_numbers(IW_MEMORY);
  ASSERT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
  restart();
  // Another thread finds the loss.
  std::thread([segment] {
    EXPECT_EQ(IW_rl_acquire_for(segment, 30, IW_FRESH), IW_ESEGMENT_LOST) << IW_strerror();
  }).join();
  EXPECT_EQ(IW_rl_acquire(segment), 0) << "nested: " << IW_strerror();
  EXPECT_EQ(numbers_[count - 1], 7);
  EXPECT_EQ(IW_rl_release(segment), 0);
  EXPECT_EQ(IW_rl_release(segment), 0);
  expect_lost(segment, numbers_);
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
}

TEST_F(LostSegment, Lost6WhoOpensAgainGoesOnWhileOthersKeepTheLostHandle) {
  const IW_handle_t segment = open_with_numbers(IW_MEMORY);
  ASSERT_EQ(open(IW_MEMORY), segment);  // two parts of the program have it open
  restart();
  EXPECT_EQ(IW_wl_acquire(segment), IW_ESEGMENT_LOST) << IW_strerror();
  ASSERT_EQ(IW_close_segment(segment), 0) << IW_strerror();
  const IW_handle_t again = open(IW_MEMORY);
  ASSERT_NE(again, nullptr) << IW_strerror();
  ASSERT_NE(again, segment);
  EXPECT_EQ(IW_mip_to_ptr((url_ + "#numbers").c_str()), nullptr);
  EXPECT_EQ(IW_errno(), IW_ENO_BLOCK) << IW_strerror();
  int* const anew = make_numbers(again);
  EXPECT_EQ(IW_mip_to_ptr((url_ + "#numbers").c_str()), anew);
  EXPECT_EQ(IW_version(again), 1u);
  expect_lost(segment, numbers_);
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
  ASSERT_EQ(IW_rl_acquire(again), 0) << IW_strerror();
  EXPECT_EQ(anew[3], 7);
  ASSERT_EQ(IW_rl_release(again), 0);
  EXPECT_EQ(IW_close_segment(again), 0) << IW_strerror();
  EXPECT_EQ(IW_close_segment(again), IW_ENOT_OPEN);
}

TEST_F(LostSegmentOnDisk, Lost1AnOlderBackupIsALoss) {
  const IW_handle_t segment = open_with_numbers();
  save();
  release_with(segment, 8);
  release_with(segment, 7);
  restore();
  EXPECT_EQ(IW_wl_acquire(segment), IW_ESEGMENT_LOST) << IW_strerror();
  expect_lost(segment, numbers_);
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
  const IW_handle_t again = open();
  ASSERT_NE(again, nullptr) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(again), 0) << IW_strerror();
  EXPECT_EQ(IW_version(again), 1u);
  ASSERT_EQ(IW_wl_release(again), 0) << IW_strerror();
  EXPECT_EQ(IW_close_segment(again), 0) << IW_strerror();
}

// Another client was faster: the version numbers say nothing, the blocks do.
TEST_F(LostSegment, Lost2ANewSegmentThatLacksABlockIsALossWhateverItsVersion) {
  const IW_handle_t segment = open_with_numbers(IW_MEMORY);
  restart();
  Agent other;
  ASSERT_EQ(other.tell("open " + url_), "ok");
  ASSERT_EQ(other.tell("wl"), "ok");
  ASSERT_EQ(other.tell("make others 10"), "ok");
  ASSERT_EQ(other.tell("release"), "ok");
  ASSERT_EQ(other.tell("add others 0 3"), "ok");
  EXPECT_EQ(IW_wl_acquire(segment), IW_ESEGMENT_LOST) << IW_strerror();
  expect_lost(segment, numbers_);
  const IW_handle_t again = open(IW_MEMORY);
  ASSERT_NE(again, nullptr) << IW_strerror();
  ASSERT_NE(again, segment);
  // The lock that the server granted with this update was given back before that [OPEN-2].
  EXPECT_EQ(other.tell("wl_for 0"), "ok");
  EXPECT_EQ(other.tell("abort"), "ok");
  EXPECT_EQ(other.tell("add others 0 1"), "ok");
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(again), 0) << IW_strerror();
  EXPECT_EQ(IW_version(again), 5u);
  ASSERT_EQ(IW_wl_release(again), 0) << IW_strerror();
  EXPECT_EQ(IW_close_segment(again), 0) << IW_strerror();
}

// What is WRITTEN begins a new incarnation when its server was killed, with all that was released.
TEST_F(LostSegmentOnDisk, Lost3ANewIncarnationThatHasEverythingIsNoLoss) {
  const IW_handle_t segment = open_with_numbers(IW_WRITTEN);
  const std::uint64_t before = stats_of(segment).full_copies;
  for (int i = 0; i < 3; ++i) {
    restart();
    ASSERT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
    EXPECT_EQ(numbers_[count - 1], 7);
    ASSERT_EQ(IW_rl_release(segment), 0);
    ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
    EXPECT_EQ(numbers_[0], 7 + i);
    ++numbers_[0];
    ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  }
  EXPECT_EQ(stats_of(segment).full_copies, before + 3);
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
}

// Nothing was there to be lost.
TEST_F(LostSegment, Lost1AnEmptySegmentIsMadeAnew) {
  const IW_handle_t segment = open(IW_MEMORY);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  ASSERT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
  ASSERT_EQ(IW_rl_release(segment), 0);
  restart();
  ASSERT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
  ASSERT_EQ(IW_rl_release(segment), 0);
  numbers_ = make_numbers(segment);
  EXPECT_EQ(numbers_[0], 7);
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
}

}  // namespace
}  // namespace iw::test
