// Handles of closed segments, and what a closed segment leaves in the process [OPEN-4].
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "abi/tests/allocated_bytes.h"
#include "abi/tests/server_process.h"
#include "interweave.h"

namespace iw::test {
namespace {

void open_and_close(const std::string& url) {
  const IW_handle_t segment = IW_open_segment(url.c_str());
  ASSERT_NE(segment, nullptr) << IW_strerror();
  ASSERT_EQ(IW_close_segment(segment), 0) << IW_strerror();
}

void expect_closed(IW_handle_t segment) {
  EXPECT_EQ(IW_rl_acquire(segment), IW_ENOT_OPEN);
  EXPECT_EQ(IW_wl_acquire(segment), IW_ENOT_OPEN);
  EXPECT_EQ(IW_close_segment(segment), IW_ENOT_OPEN);
  EXPECT_EQ(IW_refresh(segment), IW_ENOT_OPEN);
  EXPECT_EQ(IW_malloc(segment, IW_int), nullptr);
  EXPECT_EQ(IW_errno(), IW_ENOT_OPEN);
  EXPECT_EQ(IW_version(segment), 0u);
  EXPECT_EQ(IW_on_change(segment, nullptr, nullptr), IW_ENOT_OPEN);
}

TEST(Handles, Open4AClosedOneIsAnErrorUntilItsUrlIsOpenedAgain) {
  const Server server;
  ASSERT_TRUE(server.good());
  const std::string url = server.url("/closed");
  const IW_handle_t segment = IW_open_segment(url.c_str());
  ASSERT_NE(segment, nullptr) << IW_strerror();
  ASSERT_EQ(IW_close_segment(segment), 0);
  expect_closed(segment);
  EXPECT_NE(std::string(IW_strerror()).find(url), std::string::npos) << IW_strerror();
  for (int i = 0; i < 100; ++i) open_and_close(server.url("/other-" + std::to_string(i)));
  expect_closed(segment);
  EXPECT_EQ(IW_open_segment(url.c_str()), segment);
  EXPECT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
  EXPECT_EQ(IW_rl_release(segment), 0);
  EXPECT_EQ(IW_close_segment(segment), 0);
  expect_closed(segment);
}

// Calls come at any time of the closing and opening of others.
TEST(Handles, Open4CallsOnAHandleThatOthersOpenAndCloseSucceedOrSayNotOpen) {
  const Server server;
  ASSERT_TRUE(server.good());
  const std::string url = server.url("/shared");
  const IW_handle_t segment = IW_open_segment(url.c_str());
  ASSERT_NE(segment, nullptr) << IW_strerror();
  ASSERT_EQ(IW_close_segment(segment), 0);
  std::atomic<bool> is_over{false};
  std::atomic<int> other_results{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back([&] {
      while (!is_over) {
        const int code = IW_rl_acquire(segment);
        if (code == 0) {
          if (IW_rl_release(segment) != 0) ++other_results;
        } else if (code != IW_ENOT_OPEN) {
          ++other_results;
        }
      }
    });
  }
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(IW_open_segment(url.c_str()), segment) << IW_strerror();
    ASSERT_EQ(IW_close_segment(segment), 0) << IW_strerror();
  }
  is_over = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(other_results, 0) << IW_strerror();
}

class Leftovers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_count_allocated_bytes) GTEST_SKIP() << "nobody counts allocations here";
  }
  static constexpr int urls = 1000;
  static constexpr const char* name = "/a-segment-with-a-name-of-usual-length-";
};

// For each what a handle takes, and a little of what other tables grow by.
TEST_F(Leftovers, Open4AClosedUrlLeavesLessThanTwoHundredBytes) {
  const Server server;
  ASSERT_TRUE(server.good());
  open_and_close(server.url("/first"));
  const std::size_t before = allocated_bytes();
  for (int i = 0; i < urls; ++i) open_and_close(server.url(name + std::to_string(i)));
  EXPECT_TRUE(falls_below(before + urls * 250)) << (allocated_bytes() - before) / urls;
  for (int i = 0; i < urls; ++i) open_and_close(server.url(name + std::to_string(i)));
  EXPECT_TRUE(falls_below(before + urls * 250)) << "the second time";
}

TEST_F(Leftovers, AUrlThatCannotBeOpenedLeavesNothing) {
  const std::string nowhere = "127.0.0.1:1";
  const auto fail_to_open = [&](const std::string& path) {
    EXPECT_EQ(IW_open_segment((nowhere + path).c_str()), nullptr);
    EXPECT_EQ(IW_mip_to_ptr((nowhere + path + "#block").c_str()), nullptr);
  };
  fail_to_open("/first");
  const std::size_t before = allocated_bytes();
  for (int i = 0; i < urls; ++i) fail_to_open(name + std::to_string(i));
  EXPECT_TRUE(falls_below(before + urls * 10)) << (allocated_bytes() - before) / urls;
}

}  // namespace
}  // namespace iw::test
