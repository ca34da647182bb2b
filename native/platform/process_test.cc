#include "platform/process.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "platform/clock.h"
#include "platform/invariant.h"

namespace iw::platform {
namespace {

TEST(Process, RandomBytesFillTheWholeSpan) {
  std::array<std::byte, 1000> one{};
  std::array<std::byte, 1000> two{};
  ASSERT_TRUE(random_bytes(one).ok());
  ASSERT_TRUE(random_bytes(two).ok());
  EXPECT_NE(one, two);
  // 700 to 1000 are of a later system call than 0 to 256; 20 zeros in a row do not happen.
  for (std::size_t at = 0; at + 20 <= one.size(); at += 20) {
    EXPECT_FALSE(std::all_of(one.begin() + static_cast<std::ptrdiff_t>(at),
                             one.begin() + static_cast<std::ptrdiff_t>(at) + 20,
                             [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST(Process, KnowsItsProgramAndHost) {
  EXPECT_NE(program_name().find("platform_test"), std::string::npos) << program_name();
  EXPECT_EQ(program_name().find('/'), std::string::npos);
  EXPECT_FALSE(host_name().empty());
}

TEST(Clock, DoesNotGoBack) {
  std::int64_t last = now_ns();
  EXPECT_GT(last, 0);
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t next = now_ns();
    ASSERT_GE(next, last);
    last = next;
  }
}

TEST(Invariant, ABrokenOneEndsTheProcessWithItsReason) {
  IW_INVARIANT(1 + 1 == 2, "arithmetic");
  EXPECT_DEATH(IW_INVARIANT(1 + 1 == 3, "arithmetic holds"), "broken invariant: arithmetic holds");
}

}  // namespace
}  // namespace iw::platform
