// Locks that a callback takes and does not release [PROC-6].
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "abi/tests/server_process.h"
#include "interweave.h"
#include "platform/clock.h"
#include "platform/socket.h"

namespace iw::test {
namespace {

class CallbackLocks : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.good());
    url_ = server_.url("/left");
    segment_ = IW_open_segment(url_.c_str());
    ASSERT_NE(segment_, nullptr) << IW_strerror();
    ASSERT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror();
    ASSERT_NE(IW_malloc_array(segment_, IW_int, 10, "numbers"), nullptr) << IW_strerror();
    ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror();
    look();
    ASSERT_EQ(other_.tell("open " + url_), "ok");
    IW_set_log(
        [](int code, const char* text, void* self) {
          static_cast<CallbackLocks*>(self)->add(std::to_string(code) + " " + text);
        },
        this);
  }
  void TearDown() override {
    EXPECT_EQ(IW_close_segment(segment_), 0) << IW_strerror();
    IW_set_log(nullptr, nullptr);
  }

  void look() {
    ASSERT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
    ASSERT_EQ(IW_rl_release(segment_), 0) << IW_strerror();
  }
  [[nodiscard]] int first_number() const {
    return *static_cast<int*>(IW_mip_to_ptr((url_ + "#numbers").c_str()));
  }
  void add(const std::string& text) {
    const std::lock_guard lock(mutex_);
    reports_.push_back(text);
    reported_.notify_one();
  }
  std::string next_report() {
    std::unique_lock lock(mutex_);
    while (reports_.empty()) reported_.wait(lock);
    const std::string first = reports_.front();
    reports_.erase(reports_.begin());
    return first;
  }

  Server server_;
  Agent other_;
  std::string url_;
  IW_handle_t segment_ = nullptr;
  std::mutex mutex_;
  std::condition_variable reported_;
  std::vector<std::string> reports_;
};

void leave_reader_lock(IW_handle_t segment, std::uint64_t, void*) {
  EXPECT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
  EXPECT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
}

void leave_writer_lock(IW_handle_t segment, std::uint64_t, void* self) {
  EXPECT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  auto* const number = static_cast<int*>(IW_next_block(segment, nullptr));
  ASSERT_NE(number, nullptr) << IW_strerror();
  *number = 1000;
  ASSERT_EQ(IW_on_change(segment, nullptr, self), 0);  // once
}

TEST_F(CallbackLocks, Proc6AReaderLockThatIsLeftIsGivenBackAndReported) {
  ASSERT_EQ(IW_on_change(segment_, leave_reader_lock, this), 0) << IW_strerror();
  ASSERT_EQ(other_.tell("add numbers 0 1"), "ok");
  const std::string report = next_report();
  EXPECT_NE(report.find("a callback of iw://" + url_ + " returned with a reader lock"),
            std::string::npos)
      << report;
  EXPECT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror();
  EXPECT_EQ(IW_wl_release(segment_), 0) << IW_strerror();
}

TEST_F(CallbackLocks, Proc6AWriterLockThatIsLeftIsAbortedAndReported) {
  ASSERT_EQ(IW_on_change(segment_, leave_writer_lock, this), 0) << IW_strerror();
  ASSERT_EQ(other_.tell("add numbers 0 1"), "ok");
  const std::string report = next_report();
  EXPECT_NE(report.find("returned with the writer lock; its changes are undone"), std::string::npos)
      << report;
  ASSERT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror();
  EXPECT_EQ(first_number(), 1);
  EXPECT_EQ(IW_wl_release(segment_), 0) << IW_strerror();
}

void dispatch_under_locks(IW_handle_t segment, IW_handle_t other_segment, Agent& other) {
  ASSERT_EQ(IW_wl_acquire(other_segment), 0) << IW_strerror();
  ASSERT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
  ASSERT_EQ(IW_on_change(segment, leave_reader_lock, nullptr), 0) << IW_strerror();
  platform::Interest events{IW_event_fd()};
  ASSERT_GE(events.fd, 0) << IW_strerror();
  ASSERT_EQ(other.tell("add numbers 0 1"), "ok");
  ASSERT_TRUE(platform::wait_for({&events, 1}, platform::never_ns).ok());
  ASSERT_EQ(IW_dispatch(), 0) << IW_strerror();
  EXPECT_EQ(IW_rl_release(segment), 0) << "the lock taken before: " << IW_strerror();
  EXPECT_EQ(IW_rl_release(segment), IW_ENO_LOCK) << "the callback's own";
  EXPECT_EQ(IW_wl_release(other_segment), 0) << IW_strerror();
}

// In a process of its own: after IW_event_fd there is no way back. A forked child, which opens what
// it needs anew, because an emulated program cannot execute itself.
TEST_F(CallbackLocks, Proc6LocksOfTheThreadThatDispatchesStay) {
  GTEST_FLAG_SET(death_test_style, "fast");
  EXPECT_EXIT(
      {
        const IW_handle_t segment = IW_open_segment(url_.c_str());
        const IW_handle_t mine = IW_open_segment(server_.url("/mine").c_str());
        dispatch_under_locks(segment, mine, other_);
        std::_Exit(HasFailure() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace iw::test
