// Words that several processes change at once, barriers, and data in the process's own pool.
#include <thread>

#include "ddss/ddss_fixture.h"

using namespace iw::ddss;

// Adds to the first word so many times, in each case once by adding and once by swapping.
ROLE(adder) {
  if (!join(parent)) return 1;
  const ddss_key_t key = key_of(parent.hear_text());
  const int times = parent.hear_value<int>();
  for (int i = 0; i < times; i++) {
    std::uint64_t before = 0;
    if (ddss_fetch_add(key, 0, 1, &before) != 0) return 2;
    for (std::uint64_t guess = before + 1;; guess = before) {
      if (ddss_compare_swap(key, 0, guess, guess + 1, &before) != 0) return 3;
      if (before == guess) break;
    }
  }
  parent.say("done");
  parent.hear();
  return 0;
}

// Comes to the barrier so many times. Before each time it counts itself in another segment.
static int meet(ddss_key_t barrier, ddss_key_t counter, int count, int times) {
  for (int i = 1; i <= times; i++) {
    std::uint64_t counted = 0;
    if (ddss_fetch_add(counter, 0, 1, &counted) != 0) return 2;
    if (ddss_barrier(barrier, count) != 0) return 3;
    if (ddss_get(counter, &counted, sizeof counted) != 0) return 4;
    if (counted < static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(count)) return 5;
  }
  return 0;
}
ROLE(meets) {
  if (!join(parent)) return 1;
  const ddss_key_t barrier = key_of(parent.hear_text());
  const ddss_key_t counter = key_of(parent.hear_text());
  const int count = parent.hear_value<int>();
  const int failed = meet(barrier, counter, count, parent.hear_value<int>());
  parent.say("done");
  parent.hear();
  return failed;
}

// Puts a word to the segment that it is told.
ROLE(putter) {
  if (!join(parent)) return 1;
  const ddss_key_t key = key_of(parent.hear_text());
  const std::uint64_t word = 7;
  parent.say_value(ddss_put(key, &word, sizeof word));
  parent.say_value(ddss_local(key) == nullptr ? ddss_errno() : 0);
  parent.hear();
  return 0;
}

class Words : public Space {
 protected:
  void end_all() {
    for (Child& each : children_) EXPECT_EQ(each.line().hear_text(), "done");
    for (Child& each : children_) each.line().say("end");
    for (Child& each : children_) EXPECT_EQ(each.wait_for_end(), 0);
  }
};
OVER_ALL_TRANSPORTS(Words);

// [DDSS-WORD-1]
TEST_P(Words, AreChangedByAllAtOnce) {
  for (const ddss_model_t model : {DDSS_NULL, DDSS_STRICT}) {
    const ddss_key_t key = allocate_on(0, 8, model);
    const int times = is_shared_memory() ? 500 : 50;
    children_.clear();
    for (int i = 0; i < 3; i++) {
      Child& child = children_.emplace_back("adder");
      child.line().say(std::string(ddss_address()));
      EXPECT_GT(child.line().hear_value<int>(), 0);
      child.line().say(text_of(key));
      child.line().say_value(times);
    }
    end_all();
    std::uint64_t sum = 0;
    EXPECT_EQ(ddss_get(key, &sum, sizeof sum), 0);
    EXPECT_EQ(sum, 3u * 2u * static_cast<unsigned>(times)) << model;
  }
}

TEST_P(Words, AreWithinTheSegmentAtMultiplesOfEight) {
  const ddss_key_t key = allocate_on(0, 20, DDSS_NULL);
  std::uint64_t before = 1;
  EXPECT_EQ(ddss_fetch_add(key, 8, 5, &before), 0);
  EXPECT_EQ(before, 0u);
  EXPECT_EQ(ddss_compare_swap(key, 8, 4, 9, &before), 0);
  EXPECT_EQ(before, 5u) << "and nothing is swapped";
  EXPECT_EQ(ddss_compare_swap(key, 8, 5, 9, &before), 0);
  EXPECT_EQ(ddss_fetch_add(key, 8, 0, &before), 0);
  EXPECT_EQ(before, 9u);
  EXPECT_EQ(ddss_fetch_add(key, 4, 1, &before), DDSS_EARGUMENT);
  EXPECT_EQ(ddss_fetch_add(key, 16, 1, &before), DDSS_ERANGE);
  EXPECT_EQ(ddss_fetch_add(key, std::size_t{0} - 8, 1, &before), DDSS_ERANGE);
  EXPECT_EQ(ddss_fetch_add(key, 0, 1, nullptr), DDSS_EARGUMENT);
  ASSERT_EQ(ddss_release(key), 0);
  EXPECT_EQ(ddss_fetch_add(key, 0, 1, &before), DDSS_ENOKEY);
  for (const ddss_model_t model : {DDSS_VERSION, DDSS_DELTA, DDSS_TEMPORAL}) {
    EXPECT_EQ(ddss_fetch_add(allocate_on(0, 8, model), 0, 1, &before), DDSS_EMODEL);
  }
}

// [DDSS-WORD-2]
TEST_P(Words, OfABarrierLetAllGoWhenTheLastHasCome) {
  const ddss_key_t barrier = allocate_on(0, 8, DDSS_NULL), counter = allocate_on(0, 8, DDSS_NULL);
  const int count = 4, times = is_shared_memory() ? 200 : 30;
  for (int i = 1; i < count; i++) {
    const Child& child = add("meets");
    child.line().say(text_of(barrier));
    child.line().say(text_of(counter));
    child.line().say_value(count);
    child.line().say_value(times);
  }
  EXPECT_EQ(meet(barrier, counter, count, times), 0);
  end_all();
}

// [DDSS-WORD-2]
TEST_P(Words, OfABarrierDoNotCountWhoWaitedInVain) {
  ddss_finish();
  ddss_options_t options{};
  options.timeout_ms = impatient_ms;
  options.pool_bytes = small_pool;
  ASSERT_EQ(ddss_init(&options), 0);
  const ddss_key_t key = allocate_on(0, 8, DDSS_NULL);
  for (int i = 0; i < 2; i++) EXPECT_EQ(ddss_barrier(key, 2), DDSS_ETIMEDOUT);
  const auto come = [&] { return answered([&] { return ddss_barrier(key, 2); }); };
  std::thread other([&] { EXPECT_EQ(come(), 0); });
  EXPECT_EQ(come(), 0);
  other.join();
  EXPECT_EQ(ddss_barrier(key, 0), DDSS_EARGUMENT);
  EXPECT_EQ(ddss_barrier(allocate_on(0, 4, DDSS_NULL), 1), DDSS_ERANGE);
  EXPECT_EQ(ddss_barrier(allocate_on(0, 8, DDSS_STRICT), 1), DDSS_EMODEL);
}

TEST_P(Words, OfTheOwnPoolAreLoadedAndStored) {
  const ddss_key_t key = allocate_on(0, 8, DDSS_NULL);
  auto* const local = static_cast<std::uint64_t*>(ddss_local(key));
  ASSERT_NE(local, nullptr);
  *local = 5;
  std::uint64_t got = 0;
  EXPECT_EQ(ddss_get(key, &got, sizeof got), 0);
  EXPECT_EQ(got, 5u);
  Child& putter = add("putter");
  putter.line().say(text_of(key));
  EXPECT_EQ(result(putter), 0);
  EXPECT_EQ(*local, 7u);
  EXPECT_EQ(result(putter), DDSS_ENOTLOCAL);
  EXPECT_EQ(ddss_local(allocate_on(1, 8, DDSS_NULL)), nullptr);
  EXPECT_EQ(ddss_errno(), DDSS_ENOTLOCAL);
  for (const ddss_model_t model : {DDSS_VERSION, DDSS_DELTA}) {
    EXPECT_EQ(ddss_local(allocate_on(0, 8, model)), nullptr);
    EXPECT_EQ(ddss_errno(), DDSS_EMODEL);
  }
  ASSERT_EQ(ddss_release(key), 0);
  EXPECT_EQ(ddss_local(key), nullptr);
  EXPECT_EQ(ddss_errno(), DDSS_ENOKEY);
  putter.line().say("end");
  EXPECT_EQ(putter.wait_for_end(), 0);
}
