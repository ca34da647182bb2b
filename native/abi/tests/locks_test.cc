// Locks among processes and among the threads of one, against the real server.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "abi/tests/server_process.h"
#include "interweave.h"

namespace iw::test {
namespace {

class Locks : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.good());
    url_ = server_.url("/locks");
    segment_ = IW_open_segment(url_.c_str());
    ASSERT_NE(segment_, nullptr) << IW_strerror();
  }
  void TearDown() override {
    if (segment_ == nullptr) return;
    EXPECT_EQ(IW_close_segment(segment_), 0) << IW_strerror();
  }

  // An array of ints, committed.
  int* make_numbers(std::size_t count) {
    EXPECT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror();
    auto* const numbers = static_cast<int*>(IW_malloc_array(segment_, IW_int, count, "numbers"));
    EXPECT_NE(numbers, nullptr) << IW_strerror();
    EXPECT_EQ(IW_wl_release(segment_), 0) << IW_strerror();
    return numbers;
  }

  Server server_;
  std::string url_;
  IW_handle_t segment_ = nullptr;
};

TEST_F(Locks, WhatOneProcessReleasesAnotherReads) {
  int* const numbers = make_numbers(1000);
  Agent other;
  ASSERT_EQ(other.tell("open " + url_), "ok");
  ASSERT_EQ(other.tell("rl"), "ok");
  EXPECT_EQ(other.tell("get numbers 7"), "0");
  ASSERT_EQ(other.tell("rl_release"), "ok");

  ASSERT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror();
  numbers[7] = 42;
  numbers[999] = -1;
  ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror();
  EXPECT_EQ(IW_version(segment_), 2u);

  ASSERT_EQ(other.tell("rl"), "ok");
  EXPECT_EQ(other.tell("version"), "2");
  EXPECT_EQ(other.tell("get numbers 7"), "42");
  EXPECT_EQ(other.tell("get numbers 999"), "-1");
  ASSERT_EQ(other.tell("rl_release"), "ok");
}

TEST_F(Locks, Coh9AWriterWorksOnTheNewestVersion) {
  const int* const numbers = make_numbers(10);
  Agent other;
  ASSERT_EQ(other.tell("open " + url_), "ok");
  ASSERT_EQ(other.tell("add numbers 3 5"), "ok");
  ASSERT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror();
  EXPECT_EQ(numbers[3], 5);
  ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror();
  EXPECT_EQ(IW_version(segment_), 6u);
}

TEST_F(Locks, Lock1OneWriterAtATime) {
  int* const numbers = make_numbers(10);
  Agent other;
  ASSERT_EQ(other.tell("open " + url_), "ok");
  other.begin("add numbers 0 200");
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror();
    ++numbers[0];
    ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror();
  }
  EXPECT_EQ(other.answer(), "ok");
  ASSERT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
  EXPECT_EQ(numbers[0], 400);
  ASSERT_EQ(IW_rl_release(segment_), 0);
}

TEST_F(Locks, AWaitingWriterTimesOut) {
  make_numbers(10);
  Agent other;
  ASSERT_EQ(other.tell("open " + url_), "ok");
  ASSERT_EQ(other.tell("wl"), "ok");
  EXPECT_EQ(IW_wl_acquire_for(segment_, 0), IW_ETIMED_OUT);
  EXPECT_EQ(IW_wl_acquire_for(segment_, 0.05), IW_ETIMED_OUT) << IW_strerror();
  ASSERT_EQ(other.tell("release"), "ok");
  EXPECT_EQ(IW_wl_acquire_for(segment_, 10), 0) << IW_strerror();
  EXPECT_EQ(IW_wl_release(segment_), 0);
}

TEST_F(Locks, Coh8ReadersDoNotWaitForWritersOfOtherProcesses) {
  const int* const numbers = make_numbers(10);
  Agent other;
  ASSERT_EQ(other.tell("open " + url_), "ok");
  ASSERT_EQ(other.tell("wl"), "ok");
  ASSERT_EQ(other.tell("put numbers 0 9"), "ok");
  ASSERT_EQ(IW_rl_acquire_for(segment_, 10, 0), 0) << IW_strerror();
  EXPECT_EQ(numbers[0], 0);
  ASSERT_EQ(IW_rl_release(segment_), 0);
  ASSERT_EQ(other.tell("release"), "ok");
}

TEST_F(Locks, Coh2AStrictReaderWaitsForWritersAndThemForIt) {
  const int* const numbers = make_numbers(10);
  ASSERT_EQ(IW_set_coherence(segment_, IW_STRICT, 0), 0);
  Agent other;
  ASSERT_EQ(other.tell("open " + url_), "ok");
  ASSERT_EQ(other.tell("wl"), "ok");
  EXPECT_EQ(IW_rl_acquire_for(segment_, 0.05, 0), IW_ETIMED_OUT);
  ASSERT_EQ(other.tell("put numbers 0 9"), "ok");
  ASSERT_EQ(other.tell("release"), "ok");
  ASSERT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
  EXPECT_EQ(numbers[0], 9);
  EXPECT_EQ(other.tell("wl_for 0.05").rfind("error -14", 0), 0u);
  ASSERT_EQ(IW_rl_release(segment_), 0);
  EXPECT_EQ(other.tell("wl"), "ok");
  EXPECT_EQ(other.tell("release"), "ok");
}

// While a thread of this process asks the server, another may wait for the writer lock.
TEST_F(Locks, Coh2ThreadsOfOneProcessWriteAndReadUnderStrict) {
  int* const numbers = make_numbers(10);
  ASSERT_EQ(IW_set_coherence(segment_, IW_STRICT, 0), 0);
  Agent other;
  ASSERT_EQ(other.tell("open " + url_), "ok");
  constexpr int rounds = 200;
  std::thread writer([&] {
    for (int i = 0; i < rounds; ++i) {
      ASSERT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror();
      ++numbers[0];
      ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror();
    }
  });
  std::thread reader([&] {
    for (int seen = 0, i = 0; i < rounds; ++i) {
      ASSERT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
      EXPECT_GE(numbers[0], seen);
      seen = numbers[0];
      ASSERT_EQ(IW_rl_release(segment_), 0) << IW_strerror();
    }
  });
  EXPECT_EQ(other.tell("add numbers 0 " + std::to_string(rounds)), "ok");
  writer.join();
  reader.join();
  ASSERT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
  EXPECT_EQ(numbers[0], 2 * rounds);
  ASSERT_EQ(IW_rl_release(segment_), 0);
}

TEST_F(Locks, Copy2AbortUndoesStoresAllocationsAndFrees) {
  int* const numbers = make_numbers(2000);
  ASSERT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror();
  numbers[0] = 5;
  numbers[1999] = 6;
  ASSERT_NE(IW_malloc_named(segment_, IW_int, "more"), nullptr) << IW_strerror();
  ASSERT_EQ(IW_free(segment_, numbers), 0) << IW_strerror();
  ASSERT_EQ(IW_wl_abort(segment_), 0) << IW_strerror();
  EXPECT_EQ(IW_version(segment_), 1u);
  EXPECT_EQ(numbers[0], 0);
  EXPECT_EQ(numbers[1999], 0);
  ASSERT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
  EXPECT_EQ(IW_mip_to_ptr((url_ + "#numbers").c_str()), numbers);
  EXPECT_EQ(IW_mip_to_ptr((url_ + "#more").c_str()), nullptr);
  EXPECT_EQ(IW_errno(), IW_ENO_BLOCK);
  ASSERT_EQ(IW_rl_release(segment_), 0);
  // The lock is free again.
  Agent other;
  ASSERT_EQ(other.tell("open " + url_), "ok");
  EXPECT_EQ(other.tell("wl_for 5"), "ok");
  EXPECT_EQ(other.tell("release"), "ok");
}

TEST_F(Locks, AReleaseWithoutChangesMakesNoVersion) {
  make_numbers(10);
  ASSERT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror();
  ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror();
  EXPECT_EQ(IW_version(segment_), 1u);
}

TEST_F(Locks, Proc3LocksNestByCounting) {
  int* const numbers = make_numbers(10);
  ASSERT_EQ(IW_rl_acquire(segment_), 0);
  ASSERT_EQ(IW_rl_acquire(segment_), 0);
  Agent other;
  ASSERT_EQ(other.tell("open " + url_), "ok");
  ASSERT_EQ(other.tell("add numbers 0 1"), "ok");
  // A nested lock keeps its version, however fresh it is asked for.
  ASSERT_EQ(IW_rl_acquire_for(segment_, 0, IW_FRESH), 0);
  EXPECT_EQ(numbers[0], 0);
  ASSERT_EQ(IW_rl_release(segment_), 0);
  ASSERT_EQ(IW_rl_release(segment_), 0);
  ASSERT_EQ(IW_rl_release(segment_), 0);
  EXPECT_EQ(IW_rl_release(segment_), IW_ENO_LOCK);
  ASSERT_EQ(IW_rl_acquire(segment_), 0);
  EXPECT_EQ(numbers[0], 1);
  ASSERT_EQ(IW_rl_release(segment_), 0);
}

TEST_F(Locks, Proc4WriterLockUnderAReaderLockIsAnError) {
  make_numbers(10);
  ASSERT_EQ(IW_rl_acquire(segment_), 0);
  EXPECT_EQ(IW_wl_acquire(segment_), IW_EWOULD_DEADLOCK);
  ASSERT_EQ(IW_rl_release(segment_), 0);
}

TEST_F(Locks, Proc4TheWriterReadsItsOwnCopy) {
  int* const numbers = make_numbers(10);
  ASSERT_EQ(IW_wl_acquire(segment_), 0);
  numbers[0] = 3;
  ASSERT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
  EXPECT_EQ(numbers[0], 3);
  ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror();
  // The reader lock is still held.
  EXPECT_EQ(IW_wl_acquire(segment_), IW_EWOULD_DEADLOCK);
  ASSERT_EQ(IW_rl_release(segment_), 0);
  EXPECT_EQ(IW_rl_release(segment_), IW_ENO_LOCK);
}

TEST_F(Locks, WhatNeedsTheWriterLockSaysSo) {
  make_numbers(10);
  EXPECT_EQ(IW_malloc(segment_, IW_int), nullptr);
  EXPECT_EQ(IW_errno(), IW_ENO_LOCK);
  EXPECT_EQ(IW_wl_release(segment_), IW_ENO_LOCK);
  EXPECT_EQ(IW_wl_abort(segment_), IW_ENO_LOCK);
  ASSERT_EQ(IW_rl_acquire(segment_), 0);
  EXPECT_EQ(IW_malloc(segment_, IW_int), nullptr);
  EXPECT_EQ(IW_errno(), IW_ENO_LOCK);
  ASSERT_EQ(IW_rl_release(segment_), 0);
}

// Each thread changes both elements, each reader checks that they agree [PROC-1, PROC-2, P2].
// [PROC-2]
TEST_F(Locks, ThreadsOfTwoProcessesNeverSeePartOfARelease) {
  int* const numbers = make_numbers(5000);
  Agent other;
  ASSERT_EQ(other.tell("open " + url_), "ok");
  other.begin("add numbers 2500 100");
  std::atomic<int> torn{0};
  const auto write = [&] {
    for (int i = 0; i < 50; ++i) {
      if (IW_wl_acquire(segment_) != 0) return;
      ++numbers[0];
      ++numbers[4999];
      if (IW_wl_release(segment_) != 0) return;
    }
  };
  const auto read = [&] {
    for (int i = 0; i < 200; ++i) {
      if (IW_rl_acquire(segment_) != 0) return;
      if (numbers[0] != numbers[4999]) ++torn;
      IW_rl_release(segment_);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back(write);
  for (int i = 0; i < 3; ++i) threads.emplace_back(read);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(other.answer(), "ok");
  EXPECT_EQ(torn, 0);
  // Asked for: a subscribed copy may lag by the notification that is on its way [FRESH-3].
  ASSERT_EQ(IW_rl_acquire_for(segment_, 30, IW_FRESH), 0) << IW_strerror();
  EXPECT_EQ(numbers[0], 100);
  EXPECT_EQ(numbers[2500], 100);
  ASSERT_EQ(IW_rl_release(segment_), 0);
}

// Readers that ask each time, and writers of both processes: nobody waits for ever for another.
TEST_F(Locks, ThreadsThatAskAndWritersDoNotLockEachOtherOut) {
  int* const numbers = make_numbers(1000);
  Agent other;
  ASSERT_EQ(other.tell("open " + url_), "ok");
  other.begin("add numbers 500 300");
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (int i = 0; i < 300; ++i) {
      ASSERT_EQ(IW_wl_acquire_for(segment_, 20), 0) << IW_strerror();
      ++numbers[0];
      ASSERT_EQ(i % 4 == 0 ? IW_wl_abort(segment_) : IW_wl_release(segment_), 0) << IW_strerror();
    }
  });
  for (int reader = 0; reader < 3; ++reader) {
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        ASSERT_EQ(IW_rl_acquire_for(segment_, 20, IW_FRESH), 0) << IW_strerror();
        ASSERT_EQ(IW_rl_release(segment_), 0) << IW_strerror();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(other.answer(), "ok");
  ASSERT_EQ(IW_rl_acquire_for(segment_, 30, IW_FRESH), 0) << IW_strerror();
  EXPECT_EQ(numbers[0], 225);
  EXPECT_EQ(numbers[500], 300);
  ASSERT_EQ(IW_rl_release(segment_), 0);
}

TEST_F(Locks, ClosingUnderOnesOwnReaderLockGivesItBack) {
  make_numbers(10);
  ASSERT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
  ASSERT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
  ASSERT_EQ(IW_close_segment(segment_), 0) << IW_strerror();
  EXPECT_EQ(IW_rl_release(segment_), IW_ENOT_OPEN);
  segment_ = IW_open_segment(url_.c_str());
  ASSERT_NE(segment_, nullptr) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire_for(segment_, 5), 0) << IW_strerror();
  EXPECT_EQ(IW_wl_release(segment_), 0);
}

// Looking costs a system call, so a reader lock looks now and then, a writer lock always [COPY-1].
TEST_F(Locks, Copy1AStrayStoreIsUndoneByReaderLocks) {
  int* const numbers = make_numbers(10);
  numbers[3] = 777;
  ASSERT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
  EXPECT_EQ(numbers[3], 0) << "the first reader lock looks";
  ASSERT_EQ(IW_rl_release(segment_), 0);
  numbers[3] = 888;
  IW_stats_t stats{};
  stats.size = sizeof stats;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (stats.stray_writes < 2 && std::chrono::steady_clock::now() < until) {
    ASSERT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
    ASSERT_EQ(IW_rl_release(segment_), 0);
    ASSERT_EQ(IW_stats(segment_, &stats), 0);
  }
  EXPECT_EQ(numbers[3], 0);
}

TEST_F(Locks, Proc1AWriterExcludesReadersOfItsProcess) {
  make_numbers(10);
  ASSERT_EQ(IW_wl_acquire(segment_), 0);
  int code = 0;
  std::thread([&] { code = IW_rl_acquire_for(segment_, 0, 0); }).join();
  EXPECT_EQ(code, IW_ETIMED_OUT);
  ASSERT_EQ(IW_wl_release(segment_), 0);
  std::thread([&] {
    code = IW_rl_acquire_for(segment_, 0, 0);
    IW_rl_release(segment_);
  }).join();
  EXPECT_EQ(code, 0);
}

TEST_F(Locks, AThreadThatEndsGivesItsLocksBack) {
  int* const numbers = make_numbers(10);
  std::thread([&] { IW_rl_acquire(segment_); }).join();
  IW_set_log([](int, const char*, void*) {}, nullptr);
  std::thread([&] {
    if (IW_wl_acquire(segment_) == 0) numbers[0] = 8;
  }).join();
  IW_set_log(nullptr, nullptr);
  EXPECT_EQ(IW_wl_acquire_for(segment_, 5), 0) << IW_strerror();
  EXPECT_EQ(numbers[0], 0);
  EXPECT_EQ(IW_wl_release(segment_), 0);
}

TEST_F(Locks, AThreadThatEndsGivesBackWhatItReadsUnderTheWriterLockToo) {
  make_numbers(10);
  IW_set_log([](int, const char*, void*) {}, nullptr);
  std::thread([&] {
    if (IW_wl_acquire(segment_) == 0) (void)IW_rl_acquire(segment_);
  }).join();
  IW_set_log(nullptr, nullptr);
  EXPECT_EQ(IW_wl_acquire_for(segment_, 5), 0) << IW_strerror();
  EXPECT_EQ(IW_wl_release(segment_), 0);
}

TEST_F(Locks, TheOldHandleIsAnErrorAfterClose) {
  make_numbers(10);
  ASSERT_EQ(IW_open_segment(url_.c_str()), segment_);
  EXPECT_EQ(IW_close_segment(segment_), 0);
  EXPECT_EQ(IW_rl_acquire(segment_), 0) << "opened twice, closed once";
  EXPECT_EQ(IW_rl_release(segment_), 0);
  EXPECT_EQ(IW_close_segment(segment_), 0);
  EXPECT_EQ(IW_rl_acquire(segment_), IW_ENOT_OPEN);
  EXPECT_EQ(IW_close_segment(segment_), IW_ENOT_OPEN);
  segment_ = IW_open_segment(url_.c_str());
  ASSERT_NE(segment_, nullptr) << IW_strerror();
  ASSERT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
  EXPECT_EQ(IW_version(segment_), 1u);
  EXPECT_EQ(IW_rl_release(segment_), 0);
}

// A mistake of the program's, but an error and not a crash.
TEST_F(Locks, ThreadsThatUseASegmentWhileItIsClosedGetErrors) {
  make_numbers(10);
  std::atomic<bool> is_closed{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      while (!is_closed) {
        if (i == 0 && IW_wl_acquire(segment_) == 0) IW_wl_release(segment_);
        if (i > 0 && IW_rl_acquire_for(segment_, 10, IW_FRESH) == 0) IW_rl_release(segment_);
      }
    });
  }
  ASSERT_EQ(IW_close_segment(segment_), 0) << IW_strerror();
  is_closed = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(IW_rl_acquire(segment_), IW_ENOT_OPEN);
  segment_ = nullptr;
}

TEST_F(Locks, ReadOnlyHandlesReadAndDoNotWrite) {
  Agent other;
  ASSERT_EQ(other.tell("open " + url_), "ok");
  ASSERT_EQ(other.tell("wl"), "ok");
  ASSERT_EQ(other.tell("make numbers 10"), "ok");
  ASSERT_EQ(other.tell("put numbers 2 22"), "ok");
  ASSERT_EQ(other.tell("release"), "ok");
  IW_open_options options{};
  options.size = sizeof options;
  options.flags = IW_READ_ONLY;
  ASSERT_EQ(IW_close_segment(segment_), 0);
  segment_ = IW_open_segment_with(url_.c_str(), &options);
  ASSERT_NE(segment_, nullptr) << IW_strerror();
  EXPECT_EQ(IW_wl_acquire(segment_), IW_EREAD_ONLY);
  ASSERT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
  const auto* const numbers = static_cast<int*>(IW_mip_to_ptr((url_ + "#numbers").c_str()));
  ASSERT_NE(numbers, nullptr) << IW_strerror();
  EXPECT_EQ(numbers[2], 22);
  EXPECT_EQ(IW_rl_release(segment_), 0);
}

}  // namespace
}  // namespace iw::test
