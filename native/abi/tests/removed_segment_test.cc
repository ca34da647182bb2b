// A segment that is removed while this process has it open [GONE-1..3]: a real server, and the
// program's own command, which is done when the server has told everybody.
#include <gtest/gtest.h>

#include <thread>
#include <utility>

#include "abi/tests/restarting.h"

namespace iw::test {
namespace {

class RemovedSegment : public Restarting {
 protected:
  RemovedSegment() : Restarting(Store::in_memory) {}

  void remove() const {
    Child program({server_program(), "rm", url_});
    while (!program.read_line().empty()) {
    }
    ASSERT_EQ(program.wait(), 0);
  }

  void expect_removed(IW_handle_t segment, const int* numbers) {
    for (const auto& [model, x] : {std::pair{IW_FULL, 0.0}, std::pair{IW_NULL, 0.0},
                                   std::pair{IW_TEMPORAL, 3600.0}, std::pair{IW_STRICT, 0.0}}) {
      ASSERT_EQ(IW_set_coherence(segment, model, x), 0);
      EXPECT_EQ(IW_rl_acquire(segment), IW_EREMOVED) << model << " " << IW_strerror();
    }
    EXPECT_EQ(IW_wl_acquire(segment), IW_EREMOVED) << IW_strerror();
    EXPECT_EQ(IW_refresh(segment), IW_EREMOVED) << IW_strerror();
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(numbers[i], 7) << i;
  }
};

// [GONE-2]
TEST_F(RemovedSegment, Gone1EveryLockSaysSoAndTheCopyStaysReadable) {
  const IW_handle_t segment = open_with_numbers();
  ASSERT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
  remove();
  // Another thread finds it, if the library has not heard of it before.
  std::thread([segment] {
    EXPECT_EQ(IW_rl_acquire_for(segment, 30, IW_FRESH), IW_EREMOVED) << IW_strerror();
  }).join();
  EXPECT_EQ(IW_rl_acquire(segment), 0) << "nested: " << IW_strerror();
  EXPECT_EQ(IW_rl_release(segment), 0);
  EXPECT_EQ(IW_rl_release(segment), 0);
  expect_removed(segment, numbers_);
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
}

TEST_F(RemovedSegment, Gone1AHeldWriterLockIsRolledBackByItsRelease) {
  const IW_handle_t segment = open_with_numbers();
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  numbers_[5] = 8;
  remove();
  EXPECT_EQ(IW_wl_release(segment), IW_EREMOVED) << IW_strerror();
  EXPECT_EQ(IW_wl_release(segment), IW_ENO_LOCK);
  expect_removed(segment, numbers_);
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
}

// Nobody has told this process; the answer to its request does.
TEST_F(RemovedSegment, Gone3AnOpeningMakesItAnewWhileTheOldHandleStaysRemoved) {
  const IW_handle_t segment = open_with_numbers();
  ASSERT_EQ(open(), segment);
  remove();
  EXPECT_EQ(IW_wl_acquire(segment), IW_EREMOVED) << IW_strerror();
  EXPECT_EQ(open(IW_SYNCED, 0), nullptr);
  EXPECT_EQ(IW_errno(), IW_ENO_SEGMENT) << IW_strerror();
  const IW_handle_t again = open();
  ASSERT_NE(again, nullptr) << IW_strerror();
  ASSERT_NE(again, segment);
  ASSERT_EQ(open(), again);
  int* const anew = make_numbers(again);
  ASSERT_NE(anew, numbers_);
  EXPECT_EQ(IW_version(again), 1u);
  EXPECT_EQ(IW_mip_to_ptr((url_ + "#numbers").c_str()), anew);
  expect_removed(segment, numbers_);
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
  expect_removed(segment, numbers_);
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
  EXPECT_EQ(IW_close_segment(segment), IW_ENOT_OPEN);
  ASSERT_EQ(IW_rl_acquire(again), 0) << IW_strerror();
  EXPECT_EQ(anew[3], 7);
  ASSERT_EQ(IW_rl_release(again), 0);
  EXPECT_EQ(IW_close_segment(again), 0) << IW_strerror();
  EXPECT_EQ(IW_close_segment(again), 0) << IW_strerror();
}

TEST_F(RemovedSegment, Gone3ItIsMadeAndRemovedManyTimes) {
  for (int i = 0; i < 50; ++i) {
    const IW_handle_t segment = open_with_numbers();
    ASSERT_NE(segment, nullptr);
    remove();
    EXPECT_EQ(IW_wl_acquire(segment), IW_EREMOVED) << i << IW_strerror();
    const IW_handle_t again = open();
    ASSERT_NE(again, nullptr) << i << IW_strerror();
    EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
    EXPECT_EQ(IW_close_segment(again), 0) << IW_strerror();
    remove();
  }
}

}  // namespace
}  // namespace iw::test
