// The C++ interface against the real server.
#include <gtest/gtest.h>

#include <interweave.hpp>
#include <string>

#include "abi/tests/server_process.h"

namespace iw::test {
namespace {

TEST(Cpp, AReleasedWriteLockCommits) {
  const Server server;
  ASSERT_TRUE(server.good());
  const Segment segment(server.url("/cpp"));
  {
    WriteLock lock(segment);
    make<double>(segment, "values", 10)[3] = 2.5;
    lock.release();
  }
  EXPECT_EQ(segment.version(), 1u);
  const ReadLock lock(segment);
  const auto* const values = segment.find<double>("values");
  ASSERT_NE(values, nullptr);
  EXPECT_EQ(values[3], 2.5);
  EXPECT_EQ(segment.find<double>("other"), nullptr);
}

TEST(Cpp, AScopeLeftByAnExceptionUndoes) {
  const Server server;
  ASSERT_TRUE(server.good());
  const Segment segment(server.url("/cpp"));
  const auto fail = [&segment] {
    const WriteLock lock(segment);
    make<int>(segment, "number");
    throw std::runtime_error("on purpose");
  };
  EXPECT_THROW(fail(), std::runtime_error);
  EXPECT_EQ(segment.version(), 0u);
  const auto free_again = WriteLock::try_for(segment, 10);
  ASSERT_TRUE(free_again);
  EXPECT_EQ(segment.find<int>("number"), nullptr);
}

TEST(Cpp, ErrorsHaveCodesAndTexts) {
  try {
    const Segment missing("127.0.0.1:1/nothing");
    FAIL() << "there is no such server";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), IW_EUNREACHABLE);
    EXPECT_NE(std::string(error.what()).find("127.0.0.1:1"), std::string::npos);
  }
  const Server server;
  ASSERT_TRUE(server.good());
  const Segment segment(server.url("/cpp"));
  const ReadLock reading(segment);
  EXPECT_THROW(WriteLock{segment}, Error);
  EXPECT_THROW(make<int>(segment), Error);
}

}  // namespace
}  // namespace iw::test
