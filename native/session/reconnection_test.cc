#include "session/reconnection.h"

#include <gtest/gtest.h>

namespace iw::session {
namespace {

TEST(Reconnection, Conn1PausesGrowToTheLongestAndBeginAnewAfterASuccess) {
  Reconnection pace;
  std::int64_t now_ns = 1000;
  EXPECT_LE(pace.due_ns(), now_ns) << "at once";
  std::int64_t pause_ns = 0;
  for (int i = 0; i < 20; ++i) {
    pace.failed(now_ns);
    EXPECT_GE(pace.due_ns() - now_ns, pause_ns);
    pause_ns = pace.due_ns() - now_ns;
    now_ns = pace.due_ns();
    if (i < 3) {
      EXPECT_EQ(pause_ns, Reconnection::first_pause_ns << i);
    }
  }
  EXPECT_EQ(pause_ns, Reconnection::longest_pause_ns);
  pace.succeeded();
  EXPECT_LE(pace.due_ns(), now_ns);
  pace.failed(now_ns);
  EXPECT_EQ(pace.due_ns() - now_ns, Reconnection::first_pause_ns);
}

}  // namespace
}  // namespace iw::session
