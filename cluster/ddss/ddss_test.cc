// Segments of several processes: allocating, finding, reaching and releasing them; nodes that come
// and go.
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "ddss/ddss_fixture.h"
#include "ddss/heap.h"

using namespace iw::ddss;

// Joins, and does nothing.
ROLE(node) {
  if (!join(parent)) return 1;
  parent.hear();
  return ddss_finish() == 0 ? 0 : 2;
}

// Gets the segment's data, adds 1 to each byte, and puts them back.
ROLE(incrementer) {
  if (!join(parent)) return 1;
  const ddss_key_t key = key_of(parent.hear_text());
  ddss_description_t is;
  if (ddss_describe(key, &is) != 0) return 2;
  std::vector<std::uint8_t> bytes(is.nbytes);
  if (ddss_get(key, bytes.data(), bytes.size()) != 0) return 3;
  for (std::uint8_t& each : bytes) each++;
  return ddss_put(key, bytes.data(), bytes.size()) == 0 ? 0 : 4;
}

class Segments : public Space {};
OVER_ALL_TRANSPORTS(Segments);

TEST_P(Segments, WhatOneNodePutsAnotherGetsByTheKeyAsText) {
  add("node");
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{8}, std::size_t{4097}, std::size_t{1} << 20}) {
    const ddss_key_t key = allocate_on(1, size, DDSS_NULL);
    auto bytes = pattern(size, 5);
    ASSERT_EQ(ddss_put(key, bytes.data(), size), 0);
    Child other("incrementer");
    other.line().say(std::string(ddss_address()));
    EXPECT_GT(other.line().hear_value<int>(), 1);
    other.line().say(text_of(key));
    ASSERT_EQ(other.wait_for_end(), 0) << size;
    for (auto& each : bytes) each++;
    std::vector<std::uint8_t> got(size);
    ASSERT_EQ(ddss_get(key, got.data(), size), 0);
    EXPECT_EQ(got, bytes) << size;
    EXPECT_EQ(ddss_release(key), 0);
  }
}

// [DDSS-KEY-3]
TEST_P(Segments, AreZeroAtFirstAlsoWhereAnotherLayBefore) {
  add("node");
  const auto bytes = pattern(1000, 1);
  const ddss_key_t first = allocate_on(1, 1000, DDSS_NULL);
  ddss_description_t before, after;
  ASSERT_EQ(ddss_put(first, bytes.data(), bytes.size()), 0);
  ASSERT_EQ(ddss_describe(first, &before), 0);
  ASSERT_EQ(ddss_release(first), 0);
  const ddss_key_t second = allocate_on(1, 1000, DDSS_NULL);
  ASSERT_EQ(ddss_describe(second, &after), 0);
  EXPECT_EQ(before.data_offset, after.data_offset);
  EXPECT_NE(first, second);
  std::vector<std::uint8_t> got(1000, 1);
  ASSERT_EQ(ddss_get(second, got.data(), got.size()), 0);
  EXPECT_EQ(got, std::vector<std::uint8_t>(1000));
}

// [DDSS-KEY-1] [DDSS-KEY-2]
TEST_P(Segments, AReleasedKeyIsRefusedByAllThreadsAndNodes) {
  Child& other = add("user_of_a_released_key");
  const ddss_key_t key = allocate_on(0, 8, DDSS_NULL);
  other.line().say(text_of(key));
  EXPECT_EQ(other.line().hear_value<int>(), 0);
  std::uint64_t value = 0;
  int results[2] = {};
  ASSERT_EQ(ddss_release(key), 0);
  std::thread([&] {
    results[0] = ddss_get(key, &value, 8), results[1] = ddss_put(key, &value, 8);
  }).join();
  EXPECT_EQ(results[0], DDSS_ENOKEY);
  EXPECT_EQ(results[1], DDSS_ENOKEY);
  EXPECT_EQ(ddss_release(key), DDSS_ENOKEY);
  other.line().say("go");
  EXPECT_EQ(other.line().hear_value<int>(), DDSS_ENOKEY);
  EXPECT_EQ(other.line().hear_value<int>(), DDSS_ENOKEY);
}

ROLE(user_of_a_released_key) {
  if (!join(parent)) return 1;
  const ddss_key_t key = key_of(parent.hear_text());
  std::uint64_t value = 0;
  parent.say_value(ddss_get(key, &value, 8));
  parent.hear();
  parent.say_value(ddss_put(key, &value, 8));
  parent.say_value(ddss_get(key, &value, 8));
  parent.hear();
  return 0;
}

TEST_P(Segments, LieWhereTheyAreWanted) {
  for (int i = 0; i < 3; i++) add("node");
  const auto data_node = [](ddss_key_t key) {
    ddss_description_t is;
    return ddss_describe(key, &is) == 0 ? is.data_node : -1;
  };
  std::map<int, int> round_robin, remote;
  ddss_allocation_t how{};
  for (int i = 0; i < 12; i++) round_robin[data_node(ddss_allocate(8, DDSS_NULL, nullptr))]++;
  how.placement = DDSS_REMOTE;
  for (int i = 0; i < 12; i++) remote[data_node(ddss_allocate(8, DDSS_NULL, &how))]++;
  EXPECT_EQ(round_robin, (std::map<int, int>{{0, 3}, {1, 3}, {2, 3}, {3, 3}}));
  EXPECT_EQ(remote, (std::map<int, int>{{1, 4}, {2, 4}, {3, 4}}));
  how.placement = DDSS_LOCAL;
  EXPECT_EQ(data_node(ddss_allocate(8, DDSS_NULL, &how)), 0);
  EXPECT_EQ(data_node(allocate_on(2, 8, DDSS_NULL)), 2);
  how.placement = DDSS_NODE;
  how.node = 4;
  EXPECT_EQ(ddss_allocate(8, DDSS_NULL, &how), 0u);
  EXPECT_EQ(ddss_errno(), DDSS_ENODE);
}

// [DDSS-KEY-4]
TEST_P(Segments, DataLockAndHomeMayLieOnThreeNodes) {
  for (int i = 0; i < 3; i++) add("node");
  ddss_allocation_t how{};
  how.placement = DDSS_NODE;
  how.node = 1;
  how.has_lock_node = how.has_home_node = 1;
  how.lock_node = 2;
  how.home_node = 3;
  const ddss_key_t key = ddss_allocate(100, DDSS_STRICT, &how);
  ASSERT_NE(key, 0u) << ddss_error_text(ddss_errno());
  ddss_description_t is;
  ASSERT_EQ(ddss_describe(key, &is), 0);
  EXPECT_EQ(is.data_node, 1);
  EXPECT_EQ(is.lock_node, 2);
  EXPECT_EQ(is.home_node, 3);
  auto bytes = pattern(100, 9), got = pattern(100, 0);
  ASSERT_EQ(ddss_acquire_lock(key), 0);
  ASSERT_EQ(ddss_put(key, bytes.data(), 100), 0);
  ASSERT_EQ(ddss_release_lock(key), 0);
  ASSERT_EQ(ddss_get(key, got.data(), 100), 0);
  EXPECT_EQ(got, bytes);
  ASSERT_EQ(ddss_release(key), 0);
  EXPECT_EQ(ddss_get(key, got.data(), 100), DDSS_ENOKEY);
}

TEST_P(Segments, PoolsAreFilledFirstFit) {
  add("node");
  const auto offset = [](ddss_key_t key) {
    ddss_description_t is;
    EXPECT_EQ(ddss_describe(key, &is), 0);
    return is.data_offset;
  };
  const ddss_key_t a = allocate_on(1, 1000, DDSS_NULL), b = allocate_on(1, 2000, DDSS_NULL),
                   c = allocate_on(1, 1000, DDSS_NULL);
  const auto at_a = offset(a), at_b = offset(b), at_c = offset(c);
  EXPECT_LT(at_a, at_b);
  EXPECT_LT(at_b, at_c);
  ASSERT_EQ(ddss_release(a), 0);
  ASSERT_EQ(ddss_release(b), 0);
  EXPECT_EQ(offset(allocate_on(1, 2500, DDSS_NULL)), at_a) << "neighbours unite";
  EXPECT_LT(offset(allocate_on(1, 200, DDSS_NULL)), at_c) << "the rest of the hole";
  ddss_allocation_t how{};
  how.placement = DDSS_NODE;
  how.node = 1;
  EXPECT_EQ(ddss_allocate(small_pool, DDSS_NULL, &how), 0u);
  EXPECT_EQ(ddss_errno(), DDSS_EMEMORY);
}

TEST_P(Segments, AreOfKnownModelsAndPlacementsOnly) {
  for (const int none : {-1, DDSS_TEMPORAL + 1, 1 << 30}) {
    EXPECT_EQ(ddss_allocate(8, static_cast<ddss_model_t>(none), nullptr), 0u);
    EXPECT_EQ(ddss_errno(), DDSS_EARGUMENT);
    ddss_allocation_t how{};
    how.placement = static_cast<ddss_placement_t>(none);
    EXPECT_EQ(ddss_allocate(8, DDSS_NULL, &how), 0u);
    EXPECT_EQ(ddss_errno(), DDSS_EARGUMENT);
  }
}

TEST_P(Segments, NothingIsReachedPastTheirEnd) {
  const ddss_key_t key = ddss_allocate(16, DDSS_NULL, nullptr);
  std::uint8_t bytes[32] = {};
  EXPECT_EQ(ddss_put(key, bytes, 17), DDSS_ERANGE);
  EXPECT_EQ(ddss_get_at(key, 16, bytes, 1), DDSS_ERANGE);
  EXPECT_EQ(ddss_get_at(key, SIZE_MAX, bytes, 2), DDSS_ERANGE);
  EXPECT_EQ(ddss_put_at(key, 12, bytes, 4), 0);
  EXPECT_EQ(ddss_get(key, nullptr, 4), DDSS_EARGUMENT);
  EXPECT_EQ(ddss_get(key + 1, bytes, 4), DDSS_ENOKEY);
  EXPECT_EQ(ddss_get(0, bytes, 4), DDSS_ENOKEY);
  EXPECT_EQ(ddss_get(~ddss_key_t{0}, bytes, 4), DDSS_ENODE);
  EXPECT_EQ(ddss_allocate(0, DDSS_NULL, nullptr), 0u);
}

TEST_P(Segments, OfAStoppedNodeAreReachedExactlyWhereAccessIsOnesided) {
  Child& other = add("node");
  const ddss_key_t key = allocate_on(1, 4096, DDSS_NULL);
  const auto bytes = pattern(4096, 2);
  std::vector<std::uint8_t> got(4096);
  ASSERT_EQ(ddss_get(key, got.data(), 4096), 0);
  const bool is_onesided = is_shared_memory() || is_verbs();
  EXPECT_EQ(ddss_is_onesided(key), is_onesided ? 1 : 0);
  if (!is_onesided) return;
  other.stop();
  EXPECT_EQ(ddss_put(key, bytes.data(), 4096), 0);
  EXPECT_EQ(ddss_get(key, got.data(), 4096), 0);
  EXPECT_EQ(got, bytes);
  if (is_shared_memory()) {
    EXPECT_EQ(ddss_acquire_lock(key), 0);
    EXPECT_EQ(ddss_release_lock(key), 0);
  }
  other.go_on();
}

// [DDSS-MEMBER-5]
TEST_P(Segments, OfADeadNodeSaySo) {
  Child& other = add("node");
  const ddss_key_t key = allocate_on(1, 8, DDSS_NULL), mine = allocate_on(0, 8, DDSS_NULL);
  std::uint64_t value = 1;
  ASSERT_EQ(ddss_put(key, &value, 8), 0);
  other.kill();
  while (ddss_nodes() == 2) std::this_thread::yield();
  EXPECT_EQ(ddss_get(key, &value, 8), DDSS_ENODE);
  EXPECT_EQ(ddss_put(key, &value, 8), DDSS_ENODE);
  EXPECT_EQ(ddss_put(mine, &value, 8), 0);
}

// Whenever it is told a number of nodes, waits for them and says how many it sees.
ROLE(counter_of_nodes) {
  if (!join(parent)) return 1;
  for (int count; (count = parent.hear_value<int>()) != 0;) {
    while (ddss_nodes() > count) std::this_thread::yield();
    parent.say_value(ddss_await_nodes(count) == 0 ? ddss_nodes() : -1);
  }
  return 0;
}

// [DDSS-MEMBER-1] [DDSS-MEMBER-2]
TEST_P(Segments, NodesJoinLateAndLeaveAndAllHearOfIt) {
  Child& witness = add("counter_of_nodes");
  const ddss_key_t early = allocate_on(1, 8, DDSS_NULL);
  Child& late = add("node");
  const auto seen = [&](int count) {
    witness.line().say_value(count);
    return witness.line().hear_value<int>();
  };
  EXPECT_EQ(seen(3), 3);
  const ddss_key_t key = allocate_on(2, 8, DDSS_NULL);
  std::uint64_t value = 7;
  EXPECT_EQ(ddss_put(key, &value, 8), 0);
  late.line().say("leave");
  EXPECT_EQ(late.wait_for_end(), 0);
  EXPECT_EQ(seen(2), 2);
  while (ddss_nodes() > 2) std::this_thread::yield();
  EXPECT_EQ(ddss_get(key, &value, 8), DDSS_ENODE);
  EXPECT_EQ(ddss_put(early, &value, 8), 0);
  add("node");
  EXPECT_EQ(seen(3), 3) << "a number is not used again, but a place is";
  EXPECT_EQ(ddss_put(allocate_on(3, 8, DDSS_NULL), &value, 8), 0);
  witness.line().say_value(0);
  EXPECT_EQ(witness.wait_for_end(), 0);
}

// 20 threads allocate with one name. Says how many of them created, and the key if all got the
// same.
ROLE(creators) {
  if (!join(parent)) return 1;
  const std::string name = parent.hear_text();
  std::vector<std::thread> threads;
  std::vector<ddss_key_t> keys(20);
  std::vector<int> was_created(20);
  for (std::size_t i = 0; i < keys.size(); i++) {
    threads.emplace_back([&, i] {
      ddss_allocation_t how{};
      how.name = name.c_str();
      how.was_created = &was_created[i];
      keys[i] = ddss_allocate(8, DDSS_NULL, &how);
    });
  }
  for (auto& each : threads) each.join();
  parent.say_value(static_cast<int>(std::count(was_created.begin(), was_created.end(), 1)));
  const bool are_equal = std::set(keys.begin(), keys.end()).size() == 1;
  parent.say_value(are_equal ? keys[0] : 0);
  parent.hear();
  return 0;
}

// [DDSS-NAME-1]
TEST_P(Segments, OfAHundredWhoCreateANameOneDoes) {
  for (int i = 0; i < 5; i++) add("creators");
  for (const Child& each : children_) each.line().say("the name");
  int created = 0;
  std::set<ddss_key_t> keys;
  for (const Child& each : children_) {
    created += each.line().hear_value<int>();
    keys.insert(each.line().hear_value<ddss_key_t>());
  }
  EXPECT_EQ(created, 1);
  EXPECT_EQ(keys.size(), 1u);
  EXPECT_NE(*keys.begin(), 0u);
  ddss_allocation_t how{};
  how.name = "the name";
  EXPECT_EQ(ddss_allocate(8, DDSS_NULL, &how), *keys.begin());
  EXPECT_EQ(ddss_release(*keys.begin()), 0);
  int was_created = 0;
  how.was_created = &was_created;
  EXPECT_NE(ddss_allocate(8, DDSS_NULL, &how), *keys.begin());
  EXPECT_EQ(was_created, 1) << "the name was free again";
}

// [DDSS-NAME-3]
TEST_P(Segments, ANameWhoseNodeDiedIsCreatedAnew) {
  Child& other = add("node");
  ddss_allocation_t how{};
  how.name = "mortal";
  how.placement = DDSS_NODE;
  how.node = 1;
  const ddss_key_t first = ddss_allocate(8, DDSS_NULL, &how);
  ASSERT_NE(first, 0u);
  other.kill();
  while (ddss_nodes() == 2) std::this_thread::yield();
  how.placement = DDSS_LOCAL;
  int was_created = 0;
  how.was_created = &was_created;
  const ddss_key_t second = ddss_allocate(8, DDSS_NULL, &how);
  EXPECT_NE(second, 0u);
  EXPECT_NE(second, first);
  EXPECT_EQ(was_created, 1);
}

// All puts are started while no node can answer, so none is done before the last has begun. Then
// the puts to some nodes are done while other nodes still do not answer.
TEST_P(Segments, SixtyFourPutsToEightNodesGoOnAtOnce) {
  constexpr unsigned nodes = 8, operations_a_node = 8, all = nodes * operations_a_node;
  for (unsigned i = 0; i < nodes; i++) add("node");
  std::vector<ddss_key_t> keys;
  std::vector<std::vector<std::uint8_t>> sent, got(all, std::vector<std::uint8_t>(1000));
  for (unsigned i = 0; i < all; i++) {
    const ddss_model_t models[] = {DDSS_NULL, DDSS_VERSION, DDSS_READ, DDSS_DELTA};
    keys.push_back(allocate_on(static_cast<int>(i % nodes + 1), 1000, models[i / nodes % 4]));
    sent.push_back(pattern(1000, i));
    ASSERT_EQ(ddss_put(keys[i], got[i].data(), 1000), 0);
  }
  for (const Child& each : children_) each.stop();
  std::vector<ddss_operation_t*> operations;
  for (unsigned i = 0; i < all; i++) {
    operations.push_back(ddss_async_put(keys[i], sent[i].data(), 1000));
    ASSERT_NE(operations[i], nullptr) << ddss_error_text(ddss_errno());
  }
  for (unsigned node : {0u, 3u, 4u, 7u, 1u, 2u, 5u, 6u}) {
    children_[node].go_on();
    for (unsigned i = node; i < all; i += nodes) EXPECT_EQ(ddss_wait(operations[i]), 0) << i;
  }
  for (const Child& each : children_) each.stop();
  for (unsigned i = 0; i < all; i++) {
    const bool is_plain = i / nodes % 4 == 0;  // under the other models a get waits
    operations[i] = is_plain ? ddss_async_get(keys[i], got[i].data(), 1000) : nullptr;
  }
  for (const Child& each : children_) each.go_on();
  for (unsigned i = 0; i < all; i++) {
    const bool is_started = operations[i] != nullptr;
    EXPECT_EQ(is_started ? ddss_wait(operations[i]) : ddss_get(keys[i], got[i].data(), 1000), 0);
  }
  EXPECT_EQ(got, sent);
  ASSERT_EQ(ddss_release(keys[0]), 0);
  EXPECT_EQ(ddss_async_put(keys[0], sent[0].data(), 1000), nullptr);
  EXPECT_EQ(ddss_wait(nullptr), DDSS_ENOKEY);
}

// Each thread makes calls until the node has finished.
TEST_P(Segments, OfANodeThatFinishesAreLeftByTheCallsOfOtherThreads) {
  ddss_finish();
  for (int round = 0; round < 10; round++) {
    ddss_options_t options{};
    options.pool_bytes = small_pool;
    options.timeout_ms = patient_ms;
    ASSERT_EQ(ddss_init(&options), 0);
    const ddss_key_t key = allocate_on(0, 8, DDSS_STRICT);
    std::atomic<int> calling{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++) {
      threads.emplace_back([&] {
        std::uint64_t value = 0;
        int result = ddss_put(key, &value, 8);
        calling++;
        while (result == 0) result = ddss_get(key, &value, 8);
        EXPECT_EQ(result, DDSS_ENOTINIT);
      });
    }
    while (calling < 3) std::this_thread::yield();
    EXPECT_EQ(ddss_finish(), 0);
    for (std::thread& each : threads) each.join();
  }
}

TEST_P(Segments, OfANodeThatFinishesEndTheOperationsThatAreNotWaitedFor) {
  Child& other = add("node");
  const ddss_key_t key = allocate_on(1, 1 << 20, DDSS_NULL);
  auto bytes = pattern(1 << 20, 3);
  ASSERT_EQ(ddss_put(key, bytes.data(), 8), 0);
  other.stop();  // over TCP no operation ends
  std::vector<ddss_operation_t*> operations;
  for (int i = 0; i < 4; i++) {
    operations.push_back(ddss_async_put(key, bytes.data(), bytes.size()));
    operations.push_back(ddss_async_get(key, bytes.data(), bytes.size()));
  }
  EXPECT_EQ(ddss_finish(), 0);
  for (ddss_operation_t* each : operations) {
    EXPECT_EQ(ddss_wait(each), is_shared_memory() ? 0 : DDSS_ENOTINIT);
  }
  other.go_on();
}

TEST_P(Segments, OfANodeThatFinishesMayBeWaitedForMeanwhile) {
  add("node");
  const ddss_key_t key = allocate_on(1, 64, DDSS_NULL);
  std::vector<std::array<std::byte, 64>> got(400);
  std::vector<ddss_operation_t*> operations;
  for (auto& each : got) operations.push_back(ddss_async_get(key, each.data(), each.size()));
  std::atomic<bool> has_begun{false};
  std::thread waiting([&] {
    for (ddss_operation_t* each : operations) {
      const int result = ddss_wait(each);
      EXPECT_TRUE(result == 0 || result == DDSS_ENOTINIT) << result;
      has_begun = true;
    }
  });
  while (!has_begun) std::this_thread::yield();
  EXPECT_EQ(ddss_finish(), 0);
  waiting.join();
}

TEST(Ddss, CallsBeforeInitAndAfterFinishSaySo) {
  EXPECT_EQ(ddss_nodes(), DDSS_ENOTINIT);
  EXPECT_EQ(ddss_allocate(8, DDSS_NULL, nullptr), 0u);
  EXPECT_EQ(ddss_errno(), DDSS_ENOTINIT);
  ddss_options_t options{};
  options.join = "nonsense";
  EXPECT_EQ(ddss_init(&options), DDSS_EARGUMENT);
  EXPECT_EQ(ddss_finish(), DDSS_ENOTINIT);
}

TEST(Heap, TakesTheFirstHoleThatFitsAndUnitesNeighbours) {
  Heap heap(128, 128 + 640);
  EXPECT_EQ(heap.take(64), 128u);
  EXPECT_EQ(heap.take(65), 192u);
  EXPECT_EQ(heap.take(1), 320u);
  EXPECT_EQ(heap.take(1000), std::nullopt);
  EXPECT_EQ(heap.take(SIZE_MAX), std::nullopt);
  EXPECT_EQ(heap.give_back(128), 64u);
  EXPECT_EQ(heap.give_back(128), 0u);
  EXPECT_EQ(heap.take(100), 384u);
  EXPECT_EQ(heap.give_back(192), 128u);
  EXPECT_EQ(heap.take(192), 128u);
  EXPECT_EQ(heap.give_back(128) + heap.give_back(320) + heap.give_back(384), 192u + 64 + 128);
  EXPECT_EQ(heap.take(640), 128u) << "all is one hole again";
}
