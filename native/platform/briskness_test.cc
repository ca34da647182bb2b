// A thread polls for a moment before it sleeps, where that is worth it.
#include "platform/briskness.h"

#include <gtest/gtest.h>

namespace iw::platform {
namespace {

constexpr std::int64_t us = 1'000;
constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t start_ns = 3600 * 1000 * ms;
constexpr std::int64_t soon_ns = 100 * us;

// A turn in which something came after a while. Returns for how long it polls at most.
std::int64_t turn(Briskness& brisk, std::int64_t now_ns, std::int64_t after_ns) {
  const std::int64_t until_ns = brisk.begin(now_ns);
  brisk.end(now_ns + after_ns, true);
  return until_ns - now_ns;
}

TEST(Briskness, PollsWhenSomethingCameSoonTheLastTime) {
  Briskness brisk(soon_ns);
  EXPECT_EQ(turn(brisk, start_ns, soon_ns), 0);
  EXPECT_EQ(turn(brisk, start_ns, 10 * us), 0);
  EXPECT_EQ(turn(brisk, start_ns, 10 * us), soon_ns);
}

TEST(Briskness, NeverPollsWhereThatIsNotAllowed) {
  Briskness brisk(0);
  for (int i = 0; i < 10; i++) EXPECT_EQ(turn(brisk, start_ns, 0), 0);
}

TEST(Briskness, SleepsAtOnceAfterNothingCame) {
  Briskness brisk(soon_ns);
  turn(brisk, start_ns, 10 * us);
  EXPECT_EQ(brisk.begin(start_ns), start_ns + soon_ns);
  brisk.end(start_ns + 10 * us, false);
  EXPECT_EQ(brisk.begin(start_ns), start_ns);
}

TEST(Briskness, PollsSeldomWhereEverySecondPollIsWasted) {
  Briskness brisk(soon_ns);
  int polls = 0;
  for (int i = 0; i < 1000; i++) {
    if (turn(brisk, start_ns, i % 2 == 0 ? 10 * us : ms) > 0) polls++;
  }
  EXPECT_EQ(polls, 1);
}

// Something comes late as soon as the thread polls.
TEST(Briskness, PollsAgainWhenThingsComeSoonForLongEnough) {
  Briskness brisk(soon_ns);
  int turns = 0;
  for (int polls = 0; polls < 10;) {
    const bool is_polling = brisk.begin(start_ns) > start_ns;
    brisk.end(start_ns + (is_polling ? ms : 10 * us), true);
    if (is_polling) polls++;
    turns++;
  }
  EXPECT_LE(turns, 10 * (Briskness::most_turns + 1));
  // One waste after many polls that paid.
  for (int i = 0; i < 2 * Briskness::most_turns; i++) turn(brisk, start_ns, 10 * us);
  turn(brisk, start_ns, ms);
  EXPECT_EQ(turn(brisk, start_ns, 10 * us), 0);
  EXPECT_EQ(turn(brisk, start_ns, 10 * us), 0);
  EXPECT_EQ(turn(brisk, start_ns, 10 * us), soon_ns);
}

TEST(Briskness, SleepsAtOnceForAWhileAfterAnotherThreadTookTheProcessor) {
  Briskness brisk(soon_ns);
  std::int64_t now_ns = start_ns;
  std::int64_t last_ns = 0;
  for (int times = 0; times < 20; times++) {
    turn(brisk, now_ns, 10 * us);
    ASSERT_EQ(brisk.begin(now_ns), now_ns + soon_ns) << times;
    brisk.look(now_ns += us);
    brisk.look(now_ns += 3 * ms);
    brisk.end(now_ns, true);
    const std::int64_t crowded_ns = now_ns;
    while (turn(brisk, now_ns, 10 * us) == 0) now_ns += 100 * us;
    EXPECT_GE(now_ns - crowded_ns, last_ns);
    last_ns = std::min(now_ns - crowded_ns, Briskness::crowded_max_ns / 2);
  }
  EXPECT_EQ(last_ns, Briskness::crowded_max_ns / 2);
}

TEST(Briskness, ForgetsAfterALongTimeThatItWasCrowded) {
  Briskness brisk(soon_ns);
  const auto be_late = [&](std::int64_t now_ns) {
    turn(brisk, now_ns, 10 * us);
    brisk.begin(now_ns);
    brisk.look(now_ns + 3 * ms);
    brisk.end(now_ns + 3 * ms, true);
    turn(brisk, now_ns + 3 * ms, 10 * us);
    return now_ns + 3 * ms;
  };
  std::int64_t now_ns = start_ns;
  for (int times = 0; times < 20; times++) now_ns = be_late(now_ns);
  now_ns = be_late(now_ns + 3600 * 1000 * ms);
  const std::int64_t later_ns = now_ns + Briskness::crowded_min_ns;
  EXPECT_GT(brisk.begin(later_ns), later_ns);
}

}  // namespace
}  // namespace iw::platform
