// The paper's Figure 1 in plain C (c_test.c), by two processes.
#include <gtest/gtest.h>

#include <cstdlib>

#include "abi/tests/server_process.h"

namespace iw::test {
namespace {

TEST(Figure1, AsPrintedInTwoProcesses) {
  const Server server;
  ASSERT_TRUE(server.good());
  const char* const program = std::getenv("IW_TEST_C");
  ASSERT_NE(program, nullptr);
  Child inserting({program, server.url("/list")});
  EXPECT_EQ(inserting.read_line(), "ok");
  EXPECT_EQ(inserting.wait(), 0);
  Child searching({program, server.url("/list"), "search"});
  EXPECT_EQ(searching.read_line(), "ok");
  EXPECT_EQ(searching.wait(), 0);
}

}  // namespace
}  // namespace iw::test
