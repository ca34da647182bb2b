// A server comes back without what this process had of a segment: told, by every lock, until the
// segment is opened again [LOST-1..6].
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <thread>
#include <utility>

#include "abi/tests/server_process.h"
#include "abi/tests/statistics.h"
#include "interweave.h"

namespace iw::test {
namespace {

constexpr std::size_t count = 10000;

IW_handle_t open_with(const std::string& url, int durability, unsigned flags = IW_CREATE) {
  IW_open_options options{};
  options.size = sizeof options;
  options.flags = flags;
  options.durability = durability;
  return IW_open_segment_with(url.c_str(), &options);
}

// A segment with version 1: the block `numbers`, all 7.
int* make_numbers(IW_handle_t segment) {
  EXPECT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  auto* const numbers = static_cast<int*>(IW_malloc_array(segment, IW_int, count, "numbers"));
  EXPECT_NE(numbers, nullptr) << IW_strerror();
  for (std::size_t i = 0; numbers != nullptr && i < count; ++i) numbers[i] = 7;
  EXPECT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  return numbers;
}

void restart(Server& server) {
  server.kill();
  server.start();
}

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

TEST(LostSegment, Lost1AndLost4AWriterOfARestartedMemoryServerIsToldByEveryLock) {
  Server server({"--store", "memory"});
  ASSERT_TRUE(server.good());
  const IW_handle_t segment = open_with(server.url("/memory"), IW_MEMORY);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  const int* const numbers = make_numbers(segment);
  restart(server);
  EXPECT_EQ(IW_wl_acquire(segment), IW_ESEGMENT_LOST) << IW_strerror();
  expect_lost(segment, numbers);
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
}

TEST(LostSegment, Lost1ReopeningDoesNotMakeTheSegmentAnew) {
  Server server({"--store", "memory"});
  ASSERT_TRUE(server.good());
  const IW_handle_t segment = open_with(server.url("/memory"), IW_MEMORY);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  const int* const numbers = make_numbers(segment);
  restart(server);
  EXPECT_EQ(IW_rl_acquire(segment), IW_ESEGMENT_LOST) << IW_strerror();
  EXPECT_EQ(open_with(server.url("/memory"), IW_MEMORY, 0), nullptr);
  EXPECT_EQ(IW_errno(), IW_ENO_SEGMENT) << IW_strerror();
  expect_lost(segment, numbers);
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
}

TEST(LostSegment, Lost4AHeldWriterLockIsRolledBackByItsRelease) {
  Server server({"--store", "memory"});
  ASSERT_TRUE(server.good());
  const IW_handle_t segment = open_with(server.url("/memory"), IW_MEMORY);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  int* const numbers = make_numbers(segment);
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  numbers[5] = 8;
  restart(server);
  EXPECT_EQ(IW_wl_release(segment), IW_ESEGMENT_LOST) << IW_strerror();
  EXPECT_EQ(IW_wl_release(segment), IW_ENO_LOCK);
  expect_lost(segment, numbers);
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
}

TEST(LostSegment, Lost4AndLost5AReaderLockThatIsHeldGoesOn) {
  Server server({"--store", "memory"});
  ASSERT_TRUE(server.good());
  const IW_handle_t segment = open_with(server.url("/memory"), IW_MEMORY);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  const int* const numbers = make_numbers(segment);
  ASSERT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
  restart(server);
  // Another thread finds the loss.
  std::thread([segment] {
    EXPECT_EQ(IW_rl_acquire_for(segment, 30, IW_FRESH), IW_ESEGMENT_LOST) << IW_strerror();
  }).join();
  EXPECT_EQ(IW_rl_acquire(segment), 0) << "nested: " << IW_strerror();
  EXPECT_EQ(numbers[count - 1], 7);
  EXPECT_EQ(IW_rl_release(segment), 0);
  EXPECT_EQ(IW_rl_release(segment), 0);
  expect_lost(segment, numbers);
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
}

TEST(LostSegment, Lost6WhoOpensAgainGoesOnWhileOthersKeepTheLostHandle) {
  Server server({"--store", "memory"});
  ASSERT_TRUE(server.good());
  const std::string url = server.url("/memory");
  const IW_handle_t segment = open_with(url, IW_MEMORY);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  ASSERT_EQ(open_with(url, IW_MEMORY), segment);  // two parts of the program have it open
  const int* const numbers = make_numbers(segment);
  restart(server);
  EXPECT_EQ(IW_wl_acquire(segment), IW_ESEGMENT_LOST) << IW_strerror();
  ASSERT_EQ(IW_close_segment(segment), 0) << IW_strerror();
  const IW_handle_t again = open_with(url, IW_MEMORY);
  ASSERT_NE(again, nullptr) << IW_strerror();
  ASSERT_NE(again, segment);
  EXPECT_EQ(IW_mip_to_ptr((url + "#numbers").c_str()), nullptr);
  EXPECT_EQ(IW_errno(), IW_ENO_BLOCK) << IW_strerror();
  int* const anew = make_numbers(again);
  EXPECT_EQ(IW_mip_to_ptr((url + "#numbers").c_str()), anew);
  EXPECT_EQ(IW_version(again), 1u);
  expect_lost(segment, numbers);
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
  ASSERT_EQ(IW_rl_acquire(again), 0) << IW_strerror();
  EXPECT_EQ(anew[3], 7);
  ASSERT_EQ(IW_rl_release(again), 0);
  EXPECT_EQ(IW_close_segment(again), 0) << IW_strerror();
  EXPECT_EQ(IW_close_segment(again), IW_ENOT_OPEN);
}

TEST(LostSegment, Lost1AnOlderBackupIsALoss) {
  const TemporaryDirectory store;
  const TemporaryDirectory backup;
  Server server({"--store", store.path()});
  ASSERT_TRUE(server.good());
  const IW_handle_t segment = open_with(server.url("/kept"), IW_SYNCED);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  int* const numbers = make_numbers(segment);
  server.kill();
  const auto all =
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing;
  std::filesystem::copy(store.path(), backup.path(), all);
  server.start();
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  numbers[0] = 7;
  numbers[1] = 8;
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  numbers[1] = 7;
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  server.kill();
  for (const auto& entry : std::filesystem::directory_iterator(store.path())) {
    std::filesystem::remove_all(entry.path());
  }
  std::filesystem::copy(backup.path(), store.path(), all);
  server.start();
  EXPECT_EQ(IW_wl_acquire(segment), IW_ESEGMENT_LOST) << IW_strerror();
  expect_lost(segment, numbers);
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
  const IW_handle_t again = open_with(server.url("/kept"), IW_SYNCED);
  ASSERT_NE(again, nullptr) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(again), 0) << IW_strerror();
  EXPECT_EQ(IW_version(again), 1u);
  ASSERT_EQ(IW_wl_release(again), 0) << IW_strerror();
  EXPECT_EQ(IW_close_segment(again), 0) << IW_strerror();
}

// Another client was faster: the version numbers say nothing, the blocks do.
TEST(LostSegment, Lost2ANewSegmentThatLacksABlockIsALossWhateverItsVersion) {
  Server server({"--store", "memory"});
  ASSERT_TRUE(server.good());
  const std::string url = server.url("/memory");
  const IW_handle_t segment = open_with(url, IW_MEMORY);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  const int* const numbers = make_numbers(segment);
  restart(server);
  Agent other;
  ASSERT_EQ(other.tell("open " + url), "ok");
  ASSERT_EQ(other.tell("wl"), "ok");
  ASSERT_EQ(other.tell("make others 10"), "ok");
  ASSERT_EQ(other.tell("release"), "ok");
  ASSERT_EQ(other.tell("add others 0 3"), "ok");
  EXPECT_EQ(IW_wl_acquire(segment), IW_ESEGMENT_LOST) << IW_strerror();
  expect_lost(segment, numbers);
  // The lock that the server granted for this is given back.
  EXPECT_EQ(other.tell("add others 0 1"), "ok");
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
  const IW_handle_t again = open_with(url, IW_MEMORY);
  ASSERT_NE(again, nullptr) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(again), 0) << IW_strerror();
  EXPECT_EQ(IW_version(again), 5u);
  ASSERT_EQ(IW_wl_release(again), 0) << IW_strerror();
  EXPECT_EQ(IW_close_segment(again), 0) << IW_strerror();
}

// What is WRITTEN begins a new incarnation when its server was killed, with all that was released.
TEST(LostSegment, Lost3ANewIncarnationThatHasEverythingIsNoLoss) {
  const TemporaryDirectory store;
  Server server({"--store", store.path()});
  ASSERT_TRUE(server.good());
  const IW_handle_t segment = open_with(server.url("/written"), IW_WRITTEN);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  int* const numbers = make_numbers(segment);
  const std::uint64_t before = stats_of(segment).full_copies;
  for (int i = 0; i < 3; ++i) {
    restart(server);
    ASSERT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
    EXPECT_EQ(numbers[count - 1], 7);
    ASSERT_EQ(IW_rl_release(segment), 0);
    ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
    EXPECT_EQ(numbers[0], 7 + i);
    ++numbers[0];
    ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  }
  EXPECT_EQ(stats_of(segment).full_copies, before + 3);
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
}

// Nothing was there to be lost.
TEST(LostSegment, Lost1AnEmptySegmentIsMadeAnew) {
  Server server({"--store", "memory"});
  ASSERT_TRUE(server.good());
  const IW_handle_t segment = open_with(server.url("/empty"), IW_MEMORY);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  ASSERT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
  ASSERT_EQ(IW_rl_release(segment), 0);
  restart(server);
  ASSERT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
  ASSERT_EQ(IW_rl_release(segment), 0);
  const int* const numbers = make_numbers(segment);
  EXPECT_EQ(numbers[0], 7);
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
}

}  // namespace
}  // namespace iw::test
