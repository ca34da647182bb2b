// The service thread polls for a moment before it sleeps, where that is worth it.
#include "fabric/briskness.h"

#include <gtest/gtest.h>

using namespace iw::fabric;
using namespace std::chrono_literals;

namespace {

constexpr Deadline start{1h};

// A turn in which something came after a while. Returns for how long it polls at most.
Clock::duration turn(Briskness& brisk, Deadline now, Clock::duration after) {
  const Deadline until = brisk.begin(now);
  brisk.end(now + after, true);
  return until - now;
}

}  // namespace

TEST(Briskness, PollsWhenSomethingCameSoonTheLastTime) {
  Briskness brisk;
  EXPECT_EQ(turn(brisk, start, 10us), 0us);
  EXPECT_EQ(turn(brisk, start, Briskness::soon), Briskness::soon);
  EXPECT_EQ(turn(brisk, start, 10us), 0us);
  EXPECT_EQ(turn(brisk, start, 10us), Briskness::soon);
}

TEST(Briskness, SleepsAtOnceAfterNothingCame) {
  Briskness brisk;
  turn(brisk, start, 10us);
  EXPECT_EQ(brisk.begin(start), start + Briskness::soon);
  brisk.end(start + 10us, false);
  EXPECT_EQ(brisk.begin(start), start);
}

TEST(Briskness, SleepsAtOnceForAWhileAfterAnotherThreadTookTheProcessor) {
  Briskness brisk;
  Deadline now = start;
  Clock::duration last{0};
  for (int times = 0; times < 20; times++) {
    turn(brisk, now, 10us);
    ASSERT_EQ(brisk.begin(now), now + Briskness::soon) << times;
    brisk.look(now += 1us);
    brisk.look(now += 3ms);
    brisk.end(now, true);
    const Deadline crowded = now;
    while (turn(brisk, now, 10us) == 0us) now += 100us;
    EXPECT_GE(now - crowded, last);
    last = std::min<Clock::duration>(now - crowded, Briskness::crowded_max / 2);
  }
  EXPECT_EQ(last, Briskness::crowded_max / 2);
}

TEST(Briskness, ForgetsAfterALongTimeThatItWasCrowded) {
  Briskness brisk;
  const auto be_late = [&](Deadline now) {
    turn(brisk, now, 10us);
    brisk.begin(now);
    brisk.look(now + 3ms);
    brisk.end(now + 3ms, true);
    turn(brisk, now + 3ms, 10us);
    return now + 3ms;
  };
  Deadline now = start;
  for (int times = 0; times < 20; times++) now = be_late(now);
  now = be_late(now + 1h);
  EXPECT_GT(brisk.begin(now + Briskness::crowded_min), now + Briskness::crowded_min);
}
