// The seven models among several processes: their exclusion, their promises, and the bytes they
// move.
#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "ddss/ddss_fixture.h"
#include "fabric/fabric.h"
#include "testing/seed.h"

using namespace iw::ddss;

// Obeys orders as in locks_test.cc, and answers each.
ROLE(locker) {
  if (!join(parent)) return 1;
  const ddss_key_t key = key_of(parent.hear_text());
  for (std::uint64_t version = 0;;) {
    const std::string order = parent.hear_text();
    std::uint64_t value = 1;
    int result = 0;
    if (order == "acquire") result = ddss_acquire_lock(key);
    if (order == "release") result = ddss_release_lock(key);
    if (order == "put") result = ddss_put(key, &value, sizeof value);
    if (order == "get") result = ddss_get(key, &value, sizeof value);
    if (order == "news") result = ddss_get_if_newer(key, &value, sizeof value, &version);
    if (order == "end") return 0;
    parent.say_value(result);
  }
}

class Models : public Space {
 protected:
  static std::uint16_t locks_taken(ddss_key_t key) {
    std::uint64_t word = 0;
    EXPECT_EQ(ddss_lock_word(key, &word), 0);
    return static_cast<std::uint16_t>(word >> 32);
  }
};
OVER_ALL_TRANSPORTS(Models);

// The word counts how often the lock was taken.
// [DDSS-MODEL-1] [DDSS-MODEL-2] [DDSS-MODEL-3] [DDSS-MODEL-4]
TEST_P(Models, TakeTheLockForWhatTheyExclude) {
  struct Expected {
    ddss_model_t model;
    int by_get, by_put;
  };
  const Expected all[] = {{DDSS_NULL, 0, 0},    {DDSS_READ, 1, 0},    {DDSS_WRITE, 0, 1},
                          {DDSS_STRICT, 1, 1},  {DDSS_VERSION, 0, 0}, {DDSS_DELTA, 0, 0},
                          {DDSS_TEMPORAL, 0, 0}};
  add("locker").line().say("0");
  for (const Expected& each : all) {
    const ddss_key_t key = allocate_on(1, 8, each.model);
    std::uint64_t value = 5, got = 0;
    ASSERT_EQ(ddss_put(key, &value, 8), 0);
    EXPECT_EQ(locks_taken(key), each.by_put) << each.model;
    ASSERT_EQ(ddss_get(key, &got, 8), 0);
    EXPECT_EQ(locks_taken(key), each.by_put + each.by_get) << each.model;
    EXPECT_EQ(got, value);
    ASSERT_EQ(ddss_acquire_lock(key), 0);
    const auto taken = locks_taken(key);
    ASSERT_EQ(ddss_put(key, &value, 8), 0);
    ASSERT_EQ(ddss_get(key, &got, 8), 0);
    EXPECT_EQ(locks_taken(key), taken) << "what the thread holds is not taken again";
    EXPECT_EQ(ddss_release_lock(key), 0);
  }
}

// [DDSS-MODEL-1] [DDSS-MODEL-2] [DDSS-MODEL-3] [DDSS-MODEL-4]
TEST_P(Models, WaitForAHolderOnlyWithWhatTheyExclude) {
  for (const ddss_model_t model : {DDSS_NULL, DDSS_READ, DDSS_WRITE, DDSS_STRICT}) {
    const ddss_key_t key = allocate_on(0, 8, model);
    Child& other = add_locker(key);
    ASSERT_EQ(ddss_acquire_lock(key), 0);
    const bool gets_wait = model == DDSS_READ || model == DDSS_STRICT;
    const bool puts_wait = model == DDSS_WRITE || model == DDSS_STRICT;
    if (!gets_wait) {
      EXPECT_EQ(tell(other, "get"), 0);
    }
    if (!puts_wait) {
      EXPECT_EQ(tell(other, "put"), 0);
    }
    if (gets_wait || puts_wait) {
      other.line().say(std::string(gets_wait ? "get" : "put"));
      while (locks_taken(key) != 2) std::this_thread::yield();  // it is in the queue
      ASSERT_EQ(ddss_release_lock(key), 0);
      EXPECT_EQ(other.line().hear_value<int>(), 0);
    }
  }
}

// Puts patterns of one value until it is told to stop.
ROLE(putter) {
  if (!join(parent)) return 1;
  const ddss_key_t key = key_of(parent.hear_text());
  const int puts = parent.hear_value<int>();
  std::vector<std::uint8_t> bytes(20000);
  for (int i = 0; i < puts; i++) {
    std::fill(bytes.begin(), bytes.end(), static_cast<std::uint8_t>(i));
    if (ddss_put(key, bytes.data(), bytes.size()) != 0) return 2;
  }
  parent.say("done");
  parent.hear();
  return 0;
}

// [DDSS-MODEL-5] [DDSS-MODEL-6]
TEST_P(Models, StrictVersionAndDeltaNeverShowPartOfAPut) {
  for (const ddss_model_t model : {DDSS_STRICT, DDSS_VERSION, DDSS_DELTA}) {
    const ddss_key_t key = allocate_on(0, 20000, model);
    Child& putter = add("putter");
    putter.line().say(text_of(key));
    const int puts = is_shared_memory() ? 2000 : 100;
    putter.line().say_value(puts);
    std::vector<std::uint8_t> bytes(20000);
    std::uint64_t version = 0;
    do {
      ASSERT_EQ(ddss_get(key, bytes.data(), bytes.size()), 0);
      EXPECT_EQ(std::set(bytes.begin(), bytes.end()).size(), 1u) << model;
    } while (bytes[0] != static_cast<std::uint8_t>(puts - 1));
    EXPECT_EQ(putter.line().hear_text(), "done");
    if (model == DDSS_STRICT) continue;
    EXPECT_EQ(ddss_version(key, &version), 0);
    EXPECT_EQ(version, static_cast<std::uint64_t>(puts));
  }
}

// [DDSS-MODEL-5]
TEST_P(Models, AVersionIsMovedOnce) {
  for (const ddss_model_t model : {DDSS_VERSION, DDSS_DELTA}) {
    const ddss_key_t key = allocate_on(0, 8, model);
    Child& other = add_locker(key);
    std::uint64_t version = 0, value = 77;
    EXPECT_EQ(ddss_get_if_newer(key, &value, 8, &version), DDSS_UNCHANGED) << "nothing was put";
    EXPECT_EQ(value, 77u);
    ASSERT_EQ(tell(other, "put"), 0);
    EXPECT_EQ(ddss_get_if_newer(key, &value, 8, &version), 0);
    EXPECT_EQ(value, 1u);
    EXPECT_EQ(version, 1u);
    value = 77;
    EXPECT_EQ(ddss_get_if_newer(key, &value, 8, &version), DDSS_UNCHANGED);
    EXPECT_EQ(value, 77u) << "not even touched";
  }
  const ddss_key_t key = allocate_on(0, 8, DDSS_NULL);
  std::uint64_t version = 0, value = 0;
  EXPECT_EQ(ddss_get_if_newer(key, &value, 8, &version), DDSS_EMODEL);
  EXPECT_EQ(ddss_version(key, &version), DDSS_EMODEL);
}

TEST_P(Models, AnUnchangedVersionMovesEightBytes) {
  const ddss_key_t key = allocate_on(0, 4096, DDSS_VERSION);
  Child& other = add_locker(key);
  std::vector<std::uint8_t> bytes(4096);
  std::uint64_t version = 0;
  ASSERT_EQ(ddss_version(key, &version), 0);  // finds the segment
  const auto moved_by_get = [&](int expected) {
    const std::uint64_t before = ddss_bytes_moved();
    EXPECT_EQ(ddss_get_if_newer(key, bytes.data(), bytes.size(), &version), expected);
    return ddss_bytes_moved() - before;
  };
  EXPECT_EQ(moved_by_get(DDSS_UNCHANGED), 8u);
  ASSERT_EQ(tell(other, "put"), 0);
  EXPECT_GE(moved_by_get(0), 4096u);
  EXPECT_EQ(moved_by_get(DDSS_UNCHANGED), 8u);
}

// A version alone must tell that the block belongs to another segment now.
TEST_P(Models, AnUnchangedVersionIsOfTheSegmentThatWasAskedFor) {
  add("locker").line().say("0");
  std::uint64_t version = 0, value = 1;
  for (const ddss_model_t model : {DDSS_VERSION, DDSS_DELTA}) {
    ddss_key_t released = allocate_on(1, 8, model);
    Child& other = add_locker(released);
    ASSERT_EQ(tell(other, "put"), 0);
    EXPECT_EQ(tell(other, "news"), 0);
    EXPECT_EQ(tell(other, "news"), DDSS_UNCHANGED);
    ASSERT_EQ(ddss_release(released), 0);
    EXPECT_EQ(tell(other, "news"), DDSS_ENOKEY) << "the block is nobody's";
    Child& later = add_locker(released = allocate_on(1, 8, model));
    ASSERT_EQ(tell(later, "put"), 0);
    EXPECT_EQ(tell(later, "news"), 0);
    ASSERT_EQ(ddss_release(released), 0);
    const ddss_key_t follower = allocate_on(1, 8, model);  // in the same block
    ASSERT_EQ(ddss_put(follower, &value, 8), 0);
    ASSERT_EQ(ddss_version(follower, &version), 0);
    EXPECT_EQ(version, 1u);
    EXPECT_EQ(tell(later, "news"), DDSS_ENOKEY) << "the follower has as many versions";
    ASSERT_EQ(ddss_release(follower), 0);
  }
}

// [DDSS-MODEL-6]
TEST_P(Models, DeltaKeepsSoManyOldVersions) {
  add("locker").line().say("0");
  ddss_allocation_t how{};
  how.placement = DDSS_NODE;
  how.node = 1;
  how.keep = 3;
  const ddss_key_t key = ddss_allocate(16, DDSS_DELTA, &how);
  ASSERT_NE(key, 0u);
  std::uint64_t value = 0, got[2] = {7, 7};
  EXPECT_EQ(ddss_get(key, got, 16), 0);
  EXPECT_EQ(got[0] + got[1], 0u);
  for (value = 1; value <= 10; value++) ASSERT_EQ(ddss_put(key, &value, 8), 0);
  for (std::uint64_t version = 7; version <= 10; version++) {
    got[1] = 7;
    ASSERT_EQ(ddss_get_version(key, got, 16, version), 0) << version;
    EXPECT_EQ(got[0], version);
    EXPECT_EQ(got[1], 0u) << "zeroes after what was put";
  }
  for (const std::uint64_t version : {std::uint64_t{0}, std::uint64_t{6}, std::uint64_t{11}}) {
    EXPECT_EQ(ddss_get_version(key, got, 8, version), DDSS_ENOVERSION) << version;
  }
  ASSERT_EQ(ddss_get(key, got, 8), 0);
  EXPECT_EQ(got[0], 10u);
  EXPECT_EQ(ddss_put_at(key, 8, &value, 8), DDSS_EMODEL);
}

// [DDSS-MODEL-7]
TEST_P(Models, TemporalGivesWhatIsYoungEnough) {
  add("locker").line().say("0");
  ddss_allocation_t how{};
  how.placement = DDSS_NODE;
  how.node = 1;
  for (const unsigned temporal_ms : {0u, 3600000u}) {
    how.temporal_ms = temporal_ms;
    const ddss_key_t key = ddss_allocate(8, DDSS_TEMPORAL, &how);
    ASSERT_NE(key, 0u);
    Child& other = add_locker(key);
    std::uint64_t value = 9, got = 0;
    ASSERT_EQ(ddss_put(key, &value, 8), 0);
    ASSERT_EQ(ddss_get(key, &got, 8), 0);
    EXPECT_EQ(got, 9u) << "what this node put";
    ASSERT_EQ(tell(other, "put"), 0);
    ASSERT_EQ(ddss_get(key, &got, 8), 0);
    EXPECT_EQ(got, temporal_ms == 0 ? 1u : 9u);
    ASSERT_EQ(ddss_put(key, &value, 8), 0);
    ASSERT_EQ(ddss_get(key, &got, 8), 0);
    EXPECT_EQ(got, 9u);
  }
}

// The result of a get was the newest at some time within the bound before the get began.
// [DDSS-MODEL-7]
TEST_P(Models, TemporalGivesNothingThatIsOlderThanItsBound) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds bound(50);
  ddss_allocation_t how{};
  how.placement = DDSS_LOCAL;
  how.temporal_ms = bound.count();
  const ddss_key_t key = ddss_allocate(8, DDSS_TEMPORAL, &how);
  ASSERT_NE(key, 0u);
  Child& other = add_locker(key);
  std::uint64_t got = 7;
  ASSERT_EQ(ddss_get(key, &got, 8), 0);
  EXPECT_EQ(got, 0u);
  const auto fetched = Clock::now();
  std::uint64_t moved = ddss_bytes_moved();
  while (Clock::now() - fetched < bound / 2) ASSERT_EQ(ddss_get(key, &got, 8), 0);
  const bool was_quick = Clock::now() - fetched < bound - bound / 10;
  EXPECT_TRUE(!was_quick || ddss_bytes_moved() == moved) << "what is young enough is not fetched";
  ASSERT_EQ(tell(other, "put"), 0);
  const auto put = Clock::now();
  for (auto began = put; got == 0; began = Clock::now()) {
    ASSERT_EQ(ddss_get(key, &got, 8), 0);
    ASSERT_TRUE(got == 1 || began - put < bound);
  }
  EXPECT_EQ(got, 1u);
}

// Longer than a put that is sent as one message.
constexpr std::size_t long_put = iw::fabric::payload_bytes_max + 8;

ROLE(endless_putter) {
  if (!join(parent)) return 1;
  const ddss_key_t key = key_of(parent.hear_text());
  std::vector<std::uint8_t> bytes(long_put);
  parent.say("putting");
  while (ddss_put(key, bytes.data(), bytes.size()) == 0) {
  }
  return 2;
}

// A get that a put holds up which never ends makes the lock anew. The lock's word shows this.
// [DDSS-MODEL-8]
TEST_P(Models, APutWhoseNodeDiedDoesNotHoldGetsUp) {
  constexpr std::uint16_t tickets_a_recovery = 0x4000;
  constexpr int attempts = 50;
  std::mt19937 random = iw::testing::seeded_random();
  const ddss_key_t key = allocate_on(0, long_put, DDSS_VERSION);
  std::vector<std::uint8_t> bytes(long_put);
  int attempt = 0;
  for (; attempt < attempts && locks_taken(key) < tickets_a_recovery; attempt++) {
    Child& putter = add("endless_putter");
    putter.line().say(text_of(key));
    EXPECT_EQ(putter.line().hear_text(), "putting");
    std::uint64_t first = 0, version = 0;
    ASSERT_EQ(ddss_version(key, &first), 0);
    while (version < first + 5) ASSERT_EQ(ddss_version(key, &version), 0);
    // So that the kill comes anywhere in a put. On one processor the two processes would otherwise
    // change places only where each waits.
    for (auto more = random() % 100; more > 0; more--) ASSERT_EQ(ddss_version(key, &version), 0);
    putter.kill();
    EXPECT_EQ(ddss_get(key, bytes.data(), bytes.size()), 0);
    EXPECT_EQ(ddss_put(key, bytes.data(), bytes.size()), 0);
    EXPECT_EQ(ddss_get(key, bytes.data(), bytes.size()), 0);
  }
  EXPECT_LT(attempt, attempts) << "nobody was killed within a put";
}
