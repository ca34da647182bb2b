#include "platform/fault.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "platform/fault_fixture.h"

namespace iw::platform {
namespace {

TEST(Fault, GoesToTheHandlerOfItsRangeAndTheAccessGoesOn) {
  Opener one(4);
  Opener two(4);
  one.at(1) = 'a';
  two.at(3) = 'b';
  two.at(0) = 'c';
  EXPECT_EQ(one.faults, 1);
  EXPECT_EQ(two.faults, 2);
  EXPECT_EQ(one.at(1), 'a');
  EXPECT_NE(one.last.load(), FaultAccess::read);
  EXPECT_EQ(one.at(2), 0);
  EXPECT_NE(one.last.load(), FaultAccess::write);
}

TEST(Fault, KeepsErrno) {
  Opener one(1);
  errno = 1234;
  one.at(0) = 'a';
  EXPECT_EQ(errno, 1234);
}

TEST(Fault, RangesMustNotOverlap) {
  Opener one(4);
  FaultWatch second;
  EXPECT_EQ(
      FaultWatch::start(one.memory.begin() + page_size(), page_size(), &Opener::open, &one, second)
          .code,
      EEXIST);
}

TEST(Fault, WatchesComeAndGoWhileOtherThreadsFault) {
  std::atomic<bool> is_done{false};
  std::vector<std::thread> threads;
  std::atomic<int> rounds{0};
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (!is_done || rounds < 10) {
        Opener mine(8);
        for (std::size_t page = 0; page < 8; ++page) mine.at(page) = 'x';
        EXPECT_EQ(mine.faults, 8);
        ++rounds;
      }
    });
  }
  for (int i = 0; i < 300; ++i) {
    Opener brief(1);
    brief.at(0) = 'y';
    EXPECT_EQ(brief.faults, 1);
  }
  is_done = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(Fault, OutsideEveryRangeItEndsTheProcess) {
  Opener one(1);
  Mapping unwatched;
  ASSERT_TRUE(reserve(page_size(), nullptr, Placement::if_free, unwatched).ok());
  EXPECT_DEATH(*reinterpret_cast<volatile char*>(unwatched.begin()) = 1, "");
}

}  // namespace
}  // namespace iw::platform
