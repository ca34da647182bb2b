// The clock that coherence counts with.
#include "platform/clock.h"

#include <gtest/gtest.h>
#include <time.h>

namespace iw::platform {
namespace {

TEST(Clock, NeverGoesBack) {
  std::int64_t last = now_ns();
  for (int i = 0; i < 100'000; ++i) {
    const std::int64_t now = now_ns();
    ASSERT_GE(now, last);
    last = now;
  }
}

#ifdef CLOCK_BOOTTIME
std::int64_t clock_ns(clockid_t id) {
  timespec now{};
  EXPECT_EQ(clock_gettime(id, &now), 0);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

TEST(Clock, Fresh1CountsSuspend) {
  const std::int64_t before = clock_ns(CLOCK_BOOTTIME);
  const std::int64_t now = now_ns();
  EXPECT_GE(now, before);
  EXPECT_LE(now, clock_ns(CLOCK_BOOTTIME));
}
#endif

}  // namespace
}  // namespace iw::platform
