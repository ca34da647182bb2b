#include "platform/mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>

namespace iw::platform {
namespace {

static_assert(sizeof(Mutex) == sizeof(std::mutex));
static_assert(sizeof(SharedMutex) == sizeof(std::shared_mutex));
static_assert(sizeof(Condition) == sizeof(std::condition_variable));

bool another_thread_gets(Mutex& mutex) {
  bool has_it = false;
  std::thread([&] {
    has_it = mutex.try_lock();
    if (has_it) mutex.unlock();
  }).join();
  return has_it;
}

TEST(Mutex, IsHeldUntilTheEndOfTheScope) {
  Mutex mutex;
  {
    const MutexLock held(mutex);
    EXPECT_FALSE(another_thread_gets(mutex));
  }
  EXPECT_TRUE(another_thread_gets(mutex));
}

TEST(Mutex, ThatWasTriedForIsGivenBackByItsScope) {
  Mutex mutex;
  ASSERT_TRUE(mutex.try_lock());
  { const MutexLock held(mutex, std::adopt_lock); }
  EXPECT_TRUE(another_thread_gets(mutex));
}

TEST(Mutex, GivenUpForAScopeIsHeldAgainBehindIt) {
  Mutex mutex;
  const MutexLock held(mutex);
  {
    const MutexUnlock given_up(mutex);
    EXPECT_TRUE(another_thread_gets(mutex));
  }
  EXPECT_FALSE(another_thread_gets(mutex));
}

TEST(Mutex, GivenUpForAScopeIsHeldAgainIfTheScopeThrows) {
  Mutex mutex;
  const MutexLock held(mutex);
  try {
    const MutexUnlock given_up(mutex);
    throw std::runtime_error("memory ended, say");
  } catch (const std::runtime_error&) {
    EXPECT_FALSE(another_thread_gets(mutex));
  }
}

TEST(Condition, IsWaitedForWithTheMutexGivenUp) {
  Mutex mutex;
  Condition changed;
  bool is_done = false;
  std::thread other;
  {
    const MutexLock held(mutex);
    other = std::thread([&] {
      const MutexLock held_there(mutex);
      is_done = true;
      changed.notify_one();
    });
    while (!is_done) changed.wait(mutex);
    EXPECT_FALSE(another_thread_gets(mutex));
  }
  other.join();
}

TEST(Condition, SaysThatTheTimeIsOver) {
  Mutex mutex;
  Condition never;
  const MutexLock held(mutex);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
  while (never.wait_until(mutex, deadline)) {
  }
  EXPECT_GE(std::chrono::steady_clock::now(), deadline);
  while (never.wait_for(mutex, std::chrono::milliseconds(1))) {
  }
  EXPECT_FALSE(another_thread_gets(mutex));
}

TEST(SharedMutex, IsHeldByManyReadersOrOneWriter) {
  SharedMutex mutex;
  bool is_read_together = false;
  {
    const ReaderLock held(mutex);
    std::thread([&] {
      const ReaderLock held_there(mutex);
      is_read_together = true;
    }).join();
  }
  EXPECT_TRUE(is_read_together);
  int writes = 0;
  const auto write = [&] {
    for (int i = 0; i < 1000; ++i) {
      const WriterLock held(mutex);
      ++writes;
    }
  };
  std::thread other(write);
  write();
  other.join();
  EXPECT_EQ(writes, 2000);
}

}  // namespace
}  // namespace iw::platform
