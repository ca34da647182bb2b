// What the transport library prints.
#include <ucs/config/global_opts.h>
#include <ucs/debug/log_def.h>

#include "fabric/fabric_fixture.h"

using namespace iw::fabric_tests;

namespace {

std::string printed(const char* file, ucs_log_level_t level) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  ucs_log_dispatch(file, 1, "connect", level, &ucs_global_opts.log_component, "it failed");
  ucs_log_flush();
  fflush(stdout);
  return ::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr();
}

}  // namespace

TEST(Messages, OfConnectionsToTheDeadAreNotPrinted) {
  unsetenv("UCX_LOG_LEVEL");
  const Process here;
  EXPECT_EQ(printed("../src/ucs/sys/sock.c", UCS_LOG_LEVEL_ERROR), "");
  EXPECT_EQ(printed("../src/uct/tcp/tcp_ep.c", UCS_LOG_LEVEL_ERROR), "");
}

TEST(Messages, OfWhatStrangersSayAreNotPrinted) {
  unsetenv("UCX_LOG_LEVEL");
  const Process here;
  EXPECT_EQ(printed("../src/uct/base/uct_iface.c", UCS_LOG_LEVEL_WARN), "");
  EXPECT_EQ(printed("debug/log.c", UCS_LOG_LEVEL_WARN), "");
  EXPECT_NE(printed("../src/uct/base/uct_iface.c", UCS_LOG_LEVEL_ERROR), "");
}

TEST(Messages, OfAllElseArePrinted) {
  const Process here;
  EXPECT_NE(printed("../src/uct/sm/mm/base/mm_ep.c", UCS_LOG_LEVEL_ERROR), "");
}
