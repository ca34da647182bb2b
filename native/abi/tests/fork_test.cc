// What fork does to a program's segments: only on POSIX systems.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/tests/server_process.h"
#include "interweave.h"

namespace iw::test {
namespace {

TEST(Fork, Proc5HandlesDoNotWorkInAForkedChildButItMayOpenItsOwn) {
  const Server server;
  ASSERT_TRUE(server.good());
  const IW_handle_t segment = IW_open_segment(server.url("/forked").c_str());
  ASSERT_NE(segment, nullptr) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  ASSERT_NE(IW_malloc_named(segment, IW_int, "number"), nullptr);
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  const pid_t child = fork();
  if (child == 0) {
    int wrong = 0;
    if (IW_rl_acquire(segment) != IW_EFORKED) wrong |= 1;
    if (IW_close_segment(segment) != IW_EFORKED) wrong |= 2;
    const IW_handle_t own = IW_open_segment(server.url("/forked").c_str());
    if (own == nullptr || own == segment) {
      wrong |= 4;
    } else {
      if (IW_rl_acquire(own) != 0 || IW_version(own) != 1) wrong |= 8;
      if (IW_rl_release(own) != 0) wrong |= 16;
    }
    _exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(IW_rl_acquire(segment), 0) << "the parent continues";
  EXPECT_EQ(IW_rl_release(segment), 0);
  EXPECT_EQ(IW_close_segment(segment), 0);
}

}  // namespace
}  // namespace iw::test
