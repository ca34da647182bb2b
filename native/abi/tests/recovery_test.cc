// What becomes of locks, releases and copies when the server dies, the connection is lost, or a
// client is stopped past its lease.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "abi/tests/server_process.h"
#include "abi/tests/statistics.h"
#include "interweave.h"

namespace iw::test {
namespace {

std::uint64_t full_copies(IW_handle_t segment) { return stats_of(segment).full_copies; }

IW_handle_t open_with(const std::string& url, int durability, double timeout = 30) {
  IW_open_options options{};
  options.size = sizeof options;
  options.flags = IW_CREATE;
  options.durability = durability;
  options.timeout = timeout;
  return IW_open_segment_with(url.c_str(), &options);
}

TEST(Recovery, AMissingServerIsAnErrorWithItsAddress) {
  EXPECT_EQ(IW_open_segment("127.0.0.1:1/nothing"), nullptr);
  EXPECT_EQ(IW_errno(), IW_EUNREACHABLE);
  EXPECT_NE(std::string(IW_strerror()).find("127.0.0.1:1"), std::string::npos) << IW_strerror();
}

TEST(Recovery, ARestartedServerIsReachedByTheNextOpenAtOnce) {
  Server server({"--store", "memory"});
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(server.good());
    const IW_handle_t segment = open_with(server.url("/again"), IW_MEMORY);
    ASSERT_NE(segment, nullptr) << "at round " << i << ": " << IW_strerror();
    ASSERT_EQ(IW_close_segment(segment), 0);
    server.kill();
    server.start();
  }
}

TEST(Recovery, P1WhatWasReleasedSurvivesAKilledServerAndTheCopyCatchesUpByDiff) {
  const TemporaryDirectory store;
  Server server({"--store", store.path()});
  ASSERT_TRUE(server.good());
  const IW_handle_t segment = open_with(server.url("/kept"), IW_SYNCED);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  auto* const numbers = static_cast<int*>(IW_malloc_array(segment, IW_int, 10000, "numbers"));
  ASSERT_NE(numbers, nullptr) << IW_strerror();
  for (int i = 0; i < 10000; ++i) numbers[i] = i;
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  Agent other;
  ASSERT_EQ(other.tell("open " + server.url("/kept")), "ok");
  ASSERT_EQ(other.tell("add numbers 3 1"), "ok");

  const std::uint64_t copies_before = full_copies(segment);
  server.kill();
  server.start();
  ASSERT_TRUE(server.good());

  // Both continue as if nothing had happened.
  ASSERT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
  EXPECT_EQ(IW_version(segment), 2u);
  EXPECT_EQ(numbers[3], 4);
  EXPECT_EQ(numbers[9999], 9999);
  ASSERT_EQ(IW_rl_release(segment), 0);
  EXPECT_EQ(other.tell("add numbers 3 1"), "ok");
  ASSERT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
  EXPECT_EQ(numbers[3], 5);
  ASSERT_EQ(IW_rl_release(segment), 0);
  EXPECT_EQ(full_copies(segment), copies_before) << "the copy was caught up by diff";
  EXPECT_EQ(IW_close_segment(segment), 0);
}

TEST(Recovery, Lock10TheServersRestartLosesTheWriterLockAndItsChangesAreUndone) {
  const TemporaryDirectory store;
  Server server({"--store", store.path()});
  ASSERT_TRUE(server.good());
  const IW_handle_t segment = open_with(server.url("/lost"), IW_SYNCED);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  auto* const numbers = static_cast<int*>(IW_malloc_array(segment, IW_int, 1000, "numbers"));
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  numbers[5] = 5;
  server.kill();
  server.start();
  const int code = IW_wl_release(segment);
  EXPECT_TRUE(code == IW_EROLLED_BACK || code == IW_EFENCED) << code << " " << IW_strerror();
  EXPECT_EQ(numbers[5], 0);
  EXPECT_EQ(IW_wl_release(segment), IW_ENO_LOCK);
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  numbers[5] = 6;
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  EXPECT_EQ(IW_version(segment), 2u);
  EXPECT_EQ(IW_close_segment(segment), 0);
}

TEST(Recovery, Fresh5AnAcquireThatCannotAskFails) {
  Server server;
  ASSERT_TRUE(server.good());
  const IW_handle_t segment = open_with(server.url("/silent"), IW_MEMORY);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  ASSERT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
  ASSERT_EQ(IW_rl_release(segment), 0);
  server.suspend();
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(IW_rl_acquire_for(segment, 0.1, 0), IW_ETIMED_OUT) << IW_strerror();
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(100))
      << "it waits to its deadline";
  for (const auto& [model, x] : {std::pair{IW_DELTA, 1.0}, std::pair{IW_DIFF, 50.0},
                                 std::pair{IW_TEMPORAL, 0.05}, std::pair{IW_STRICT, 0.0}}) {
    ASSERT_EQ(IW_set_coherence(segment, model, x), 0);
    EXPECT_EQ(IW_rl_acquire_for(segment, 0.01, 0), IW_ETIMED_OUT) << model;
  }
  // An acquire that needs no answer succeeds. It has more than 0 seconds, because the library's own
  // thread may be at work on the segment for a moment, with the rest of the requests above.
  ASSERT_EQ(IW_set_coherence(segment, IW_TEMPORAL, 3600), 0);
  EXPECT_EQ(IW_rl_acquire_for(segment, 5, 0), 0) << IW_strerror();
  EXPECT_EQ(IW_rl_release(segment), 0);
  ASSERT_EQ(IW_set_coherence(segment, IW_NULL, 0), 0);
  EXPECT_EQ(IW_rl_acquire_for(segment, 5, 0), 0) << IW_strerror();
  EXPECT_EQ(IW_rl_release(segment), 0);
  // The answer comes before the deadline.
  ASSERT_EQ(IW_set_coherence(segment, IW_FULL, 0), 0);
  int waited = -1;
  std::thread waiting([&] {
    waited = IW_rl_acquire_for(segment, 30, 0);
    if (waited == 0) IW_rl_release(segment);
  });
  server.resume();
  waiting.join();
  EXPECT_EQ(waited, 0);
  server.kill();
  const int code = IW_rl_acquire_for(segment, 0.1, 0);
  EXPECT_TRUE(code == IW_EUNREACHABLE || code == IW_ETIMED_OUT) << code << " " << IW_strerror();
}

// A subscribed copy is taken to be the newest only as long as the server is heard.
TEST(Recovery, Proc2AContentReaderDoesNotWaitForAnotherThreadsRefresh) {
  Server server;
  ASSERT_TRUE(server.good());
  const IW_handle_t segment = open_with(server.url("/refreshed"), IW_MEMORY);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  ASSERT_EQ(IW_set_coherence(segment, IW_NULL, 0), 0);
  ASSERT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
  ASSERT_EQ(IW_rl_release(segment), 0);
  server.suspend();
  std::thread refresher([segment] { EXPECT_EQ(IW_refresh(segment), 0) << IW_strerror(); });
  // Long enough for each thing that a lock looks for now and then.
  const auto began = std::chrono::steady_clock::now();
  int code = 0;
  while (code == 0 && std::chrono::steady_clock::now() - began < std::chrono::milliseconds(300)) {
    code = IW_rl_acquire_for(segment, 5, 0);
    if (code == 0) IW_rl_release(segment);
  }
  EXPECT_EQ(code, 0) << IW_strerror();
  server.resume();
  refresher.join();
  EXPECT_EQ(IW_close_segment(segment), 0);
}

TEST(Recovery, Fresh5ASubscribedCopyIsNotRecentWhenTheServerIsSilent) {
  Server server({"--store", "memory", "--heartbeat", "0.1"});
  ASSERT_TRUE(server.good());
  const IW_handle_t segment = open_with(server.url("/silent"), IW_MEMORY);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  std::uint64_t before = 0;
  do {
    before = stats_of(segment).local_reader_locks;
    ASSERT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
    ASSERT_EQ(IW_rl_release(segment), 0);
  } while (stats_of(segment).local_reader_locks == before);
  const auto heard = std::chrono::steady_clock::now();
  server.suspend();
  int code = 0;
  while ((code = IW_rl_acquire_for(segment, 0, 0)) == 0) {
    ASSERT_EQ(IW_rl_release(segment), 0);
    ASSERT_LT(std::chrono::steady_clock::now() - heard, std::chrono::seconds(20))
        << "taken for the newest long after the server's last word";
  }
  EXPECT_TRUE(code == IW_ETIMED_OUT || code == IW_EUNREACHABLE) << IW_strerror();
  server.resume();
  EXPECT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
  EXPECT_EQ(IW_rl_release(segment), 0);
  EXPECT_EQ(IW_close_segment(segment), 0);
}

TEST(Recovery, Lock5AClientStoppedPastItsLeaseIsFencedAndRolledBack) {
  const Server server({"--store", "memory", "--lease", "1", "--heartbeat", "0.2"});
  ASSERT_TRUE(server.good());
  const std::string url = server.url("/fenced");
  const IW_handle_t segment = open_with(url, IW_MEMORY);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  auto* const numbers = static_cast<int*>(IW_malloc_array(segment, IW_int, 1000, "numbers"));
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();

  Agent other;
  ASSERT_EQ(other.tell("open " + url), "ok");
  ASSERT_EQ(other.tell("wl"), "ok");
  ASSERT_EQ(other.tell("put numbers 0 13"), "ok");
  other.child().suspend();
  // Granted as soon as the lease has ended.
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  EXPECT_EQ(numbers[0], 0);
  numbers[1] = 1;
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  other.child().resume();
  const std::string answer = other.tell("release");
  EXPECT_TRUE(answer.rfind("error -16", 0) == 0 || answer.rfind("error -17", 0) == 0) << answer;
  ASSERT_EQ(other.tell("rl"), "ok");
  EXPECT_EQ(other.tell("get numbers 0"), "0");
  EXPECT_EQ(other.tell("get numbers 1"), "1");
  EXPECT_EQ(IW_close_segment(segment), 0);
}

TEST(Recovery, Lock3TheLeaseIsRenewedWhileTheHolderLives) {
  const Server server({"--store", "memory", "--lease", "0.5", "--heartbeat", "0.2"});
  ASSERT_TRUE(server.good());
  const std::string url = server.url("/renewed");
  const IW_handle_t segment = open_with(url, IW_MEMORY);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  auto* const number = static_cast<int*>(IW_malloc_named(segment, IW_int, "number"));
  ASSERT_NE(number, nullptr);
  // Another client waits three leases long and does not get the lock.
  Agent other;
  ASSERT_EQ(other.tell("open " + url), "ok");
  EXPECT_EQ(other.tell("wl_for 1.5").rfind("error -14", 0), 0u);
  *number = 1;
  EXPECT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  EXPECT_EQ(IW_close_segment(segment), 0);
}

TEST(Recovery, Lock11AStrictReaderThatLivesKeepsWritersOutBeyondItsLease) {
  const Server server({"--store", "memory", "--lease", "0.5", "--heartbeat", "0.2"});
  ASSERT_TRUE(server.good());
  const std::string url = server.url("/strict");
  const IW_handle_t segment = open_with(url, IW_MEMORY);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  ASSERT_EQ(IW_set_coherence(segment, IW_STRICT, 0), 0);
  ASSERT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
  Agent other;
  ASSERT_EQ(other.tell("open " + url), "ok");
  EXPECT_EQ(other.tell("wl_for 1.5").rfind("error -14", 0), 0u) << "three leases long";
  ASSERT_EQ(IW_rl_release(segment), 0);
  EXPECT_EQ(other.tell("wl_for 20"), "ok");
  EXPECT_EQ(other.tell("release"), "ok");
  EXPECT_EQ(IW_close_segment(segment), 0);
}

TEST(Recovery, AClientKilledInsideItsWriterLockLeavesTheOldVersion) {
  const Server server({"--store", "memory", "--lease", "1", "--heartbeat", "0.2"});
  ASSERT_TRUE(server.good());
  const std::string url = server.url("/killed");
  const IW_handle_t segment = open_with(url, IW_MEMORY);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  const auto* const numbers = static_cast<int*>(IW_malloc_array(segment, IW_int, 1000, "numbers"));
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  {
    Agent other;
    ASSERT_EQ(other.tell("open " + url), "ok");
    ASSERT_EQ(other.tell("wl"), "ok");
    ASSERT_EQ(other.tell("put numbers 0 13"), "ok");
  }
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  EXPECT_EQ(numbers[0], 0);
  EXPECT_EQ(IW_version(segment), 1u);
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  EXPECT_EQ(IW_close_segment(segment), 0);
}

// The server dies at some moment of a series of releases, again and again: each release that was
// acknowledged is there afterwards, none twice, the pair is never torn.
TEST(Recovery, P1NothingAcknowledgedIsLostAndNothingAppliedTwice) {
  const TemporaryDirectory store;
  Server server({"--store", store.path()});
  ASSERT_TRUE(server.good());
  const IW_handle_t segment = open_with(server.url("/kills"), IW_WRITTEN);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  auto* const pair = static_cast<int*>(IW_malloc_array(segment, IW_int, 2000, "pair"));
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  std::atomic<int> acknowledged{0};
  std::atomic<int> kills{0};
  // The same thread throughout: the server lives no longer than the thread that started it.
  std::thread killer([&] {
    for (; kills < 5; ++kills) {
      const int enough = acknowledged + 2;
      while (acknowledged < enough) std::this_thread::yield();
      // At another moment of the next release each time.
      for (int i = 0; i < kills * 50; ++i) std::this_thread::yield();
      server.kill();
      server.start();
    }
    while (kills < 6) std::this_thread::yield();
  });
  while (kills < 5) {
    if (IW_wl_acquire(segment) != 0) continue;
    EXPECT_EQ(pair[0], acknowledged);
    EXPECT_EQ(pair[1999], acknowledged);
    ++pair[0];
    ++pair[1999];
    if (IW_wl_release(segment) == 0) ++acknowledged;
  }
  EXPECT_EQ(IW_rl_acquire_for(segment, 30, IW_FRESH), 0) << IW_strerror();
  EXPECT_EQ(pair[0], acknowledged);
  EXPECT_EQ(pair[1999], acknowledged);
  EXPECT_GT(acknowledged, 5);
  EXPECT_EQ(IW_rl_release(segment), 0);
  EXPECT_EQ(IW_close_segment(segment), 0);
  kills = 6;
  killer.join();
}

}  // namespace
}  // namespace iw::test
