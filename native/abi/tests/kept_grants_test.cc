// A program that writes alone keeps the writer lock's grant between its sections: what they cost
// then, and that nobody waits for it [LOCK-13..16].
#include <gtest/gtest.h>

#include <string>

#include "abi/tests/server_process.h"
#include "abi/tests/statistics.h"
#include "interweave.h"

namespace iw::test {
namespace {

class KeptGrants : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.good());
    url_ = server_.url("/kept");
    segment_ = IW_open_segment(url_.c_str());
    ASSERT_NE(segment_, nullptr) << IW_strerror();
    begin();
    number_ = static_cast<int*>(IW_malloc_named(segment_, IW_int, "number"));
    ASSERT_NE(number_, nullptr) << IW_strerror();
    release();
    for (int i = 0; i < 4; ++i) add();
  }
  void TearDown() override {
    if (segment_ != nullptr) {
      EXPECT_EQ(IW_close_segment(segment_), 0) << IW_strerror();
    }
  }

  void begin() { ASSERT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror(); }
  void release() { ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror(); }
  void add() {
    begin();
    ++*number_;
    release();
  }
  std::uint64_t sent() { return stats_of(segment_).messages_sent; }
  int read() {
    EXPECT_EQ(IW_rl_acquire_for(segment_, 30, IW_FRESH), 0) << IW_strerror();
    const int value = *number_;
    EXPECT_EQ(IW_rl_release(segment_), 0);
    return value;
  }

  Server server_;
  std::string url_;
  IW_handle_t segment_ = nullptr;
  int* number_ = nullptr;
};

TEST_F(KeptGrants, Lock14ASectionCostsOneMessageAndOneWithoutAChangeNone) {
  const std::uint64_t before = sent();
  add();
  EXPECT_EQ(sent(), before + 1);
  begin();
  release();
  begin();
  ++*number_;
  ASSERT_EQ(IW_wl_abort(segment_), 0) << IW_strerror();
  EXPECT_EQ(sent(), before + 1);
  EXPECT_EQ(read(), 5) << "the abort was undone";
}

TEST_F(KeptGrants, Lock6SectionsOfAGrantNeverGiveASerialTwice) {
  Agent reader;
  for (int i = 0; i < 40; ++i) {
    begin();
    for (int n = 0; n < 10; ++n) ASSERT_NE(IW_malloc(segment_, IW_int), nullptr) << IW_strerror();
    if (i % 3 == 0) {
      ASSERT_EQ(IW_wl_abort(segment_), 0) << IW_strerror();
    } else {
      release();
    }
  }
  ASSERT_EQ(reader.tell("open " + url_), "ok");
  ASSERT_EQ(reader.tell("rl"), "ok");
  EXPECT_EQ(reader.tell("blocks"), std::to_string(1 + 26 * 10));
  EXPECT_EQ(reader.tell("rl_release"), "ok");
}

TEST_F(KeptGrants, Lock15AnotherProgramGetsAnIdleGrantAndOneInUse) {
  Agent other;
  ASSERT_EQ(other.tell("open " + url_), "ok");
  EXPECT_EQ(other.tell("add number 0 1"), "ok") << "the library's thread gives the grant back";
  for (int i = 0; i < 4; ++i) add();
  begin();
  ++*number_;
  other.begin("add number 0 1");
  release();
  EXPECT_EQ(other.answer(), "ok");
  EXPECT_EQ(read(), 4 + 1 + 4 + 1 + 1);
}

TEST_F(KeptGrants, Lock16AProgramThatDiesBetweenItsSectionsDelaysOthersByAGraceOnly) {
  {
    Agent other;
    ASSERT_EQ(other.tell("open " + url_), "ok");
    for (int i = 0; i < 5; ++i) ASSERT_EQ(other.tell("add number 0 1"), "ok");
    other.child().kill_now();
  }
  EXPECT_EQ(IW_wl_acquire_for(segment_, 20), 0) << IW_strerror();
  EXPECT_EQ(*number_, 9);
  release();
}

}  // namespace
}  // namespace iw::test
