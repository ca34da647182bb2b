// Each call of the library, made while the process has few file descriptors or threads left: it
// succeeds, or fails with IW_ENO_MEMORY and says what is missing; and with plenty again the same
// call succeeds. Each attempt is a process of its own (scarce_main.cc), because what the library
// has once it begins only once.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "abi/tests/server_process.h"
#include "interweave.h"

namespace iw::test {
namespace {

constexpr int enough = 12;

std::string scarce_program() {
  const char* const program = std::getenv("IW_TEST_SCARCE");
  return program == nullptr ? "" : program;
}

struct Attempt {
  std::string first;
  std::string again;
  int status = 0;
};

class Shortage : public ::testing::Test {
 protected:
  void SetUp() override {
    if (scarce_program().empty()) GTEST_SKIP() << "IW_TEST_SCARCE is not set: run it with ctest";
    ASSERT_TRUE(server_.good());
    url_ = server_.url("/made");
    const IW_handle_t segment = IW_open_segment(url_.c_str());
    ASSERT_NE(segment, nullptr) << IW_strerror();
    ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
    ASSERT_NE(IW_malloc_named(segment, IW_int, "number"), nullptr) << IW_strerror();
    ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
    ASSERT_EQ(IW_close_segment(segment), 0);
  }

  Attempt attempt(const std::string& call, const std::string& shortage, int count) {
    Child child({scarce_program(), call, shortage, std::to_string(count), url_});
    Attempt made;
    made.first = child.read_line();
    made.again = child.read_line();
    made.status = child.wait();
    return made;
  }

  void expect_named_without_descriptors(const std::vector<std::string>& calls) {
#if defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "the sanitizer opens a pipe to look at an object, and takes it for another's";
#endif
    expect_named(calls, "descriptors", {"file descriptor", "Too many open files"});
  }

  // With none left, then one, and so on until the call succeeds.
  void expect_named(const std::vector<std::string>& calls, const std::string& shortage,
                    const std::vector<std::string>& names) {
    for (const std::string& call : calls) {
      int count = 0;
      for (; count <= enough; ++count) {
        const std::string where = call + " with " + std::to_string(count) + " " + shortage;
        const Attempt made = attempt(call, shortage, count);
        EXPECT_EQ(made.status, 0) << where;
        EXPECT_EQ(made.again, "ok") << where << ", then with plenty";
        if (made.first == "ok" || made.status != 0) break;
        expect_is_named(where, made.first, names);
      }
      EXPECT_LE(count, enough) << call << " never succeeded";
    }
  }

  static void expect_is_named(const std::string& where, const std::string& said,
                              const std::vector<std::string>& names) {
    const bool is_reconnecting = where.find("reconnecting") != std::string::npos;
    const int code = is_reconnecting ? IW_EUNREACHABLE : IW_ENO_MEMORY;
    EXPECT_EQ(said.rfind(std::to_string(code) + " ", 0), 0u) << where << ": " << said;
    bool is_named = where.rfind("look_up", 0) == 0;  // not of the library's functions
    for (const std::string& name : names) {
      is_named = is_named || said.find(name) != std::string::npos;
    }
    EXPECT_TRUE(is_named) << where << ": " << said;
  }

  Server server_;
  std::string url_;
};

TEST_F(Shortage, TheFirstCallFailsForLackOfDescriptorsAndTheNextSucceeds) {
  expect_named_without_descriptors(
      {"open", "open_read_only", "mip_to_ptr", "event_fd", "dispatch", "look_up"});
}

TEST_F(Shortage, CallsOnAnOpenSegmentFailForLackOfDescriptorsAndTheNextSucceed) {
  expect_named_without_descriptors({"event_fd_later", "rl_acquire", "wl_acquire", "refresh",
                                    "on_change", "on_connection", "close"});
}

TEST_F(Shortage, CallsUnderALockFailForLackOfDescriptorsAndTheNextSucceed) {
  expect_named_without_descriptors(
      {"pin", "ptr_to_mip", "next_block", "malloc", "malloc_large", "wl_release", "wl_abort"});
}

TEST_F(Shortage, LocksThatNeedAnotherConnectionSayThatDescriptorsAreMissing) {
  expect_named_without_descriptors({"rl_reconnecting", "wl_reconnecting"});
}

TEST_F(Shortage, CallsThatNeedAThreadFailForLackOfThreadsAndTheNextSucceed) {
  expect_named({"open", "open_read_only", "mip_to_ptr", "event_fd", "dispatch", "look_up",
                "event_fd_later", "on_change", "on_connection", "rl_reconnecting"},
               "threads", {"thread can be made"});
}

TEST_F(Shortage, AListenerWithoutAThreadForReconnectingSaysSoOnceAndHearsLater) {
  Child listener({scarce_program(), "listens", url_});
  const std::string report = listener.read_line();
  EXPECT_EQ(report.rfind("report " + std::to_string(IW_ENO_MEMORY), 0), 0u) << report;
  EXPECT_NE(report.find("no thread can be made that reconnects"), std::string::npos) << report;
  Agent other;
  ASSERT_EQ(other.tell("open " + url_), "ok");
  ASSERT_EQ(other.tell("wl"), "ok");
  ASSERT_EQ(other.tell("make numbers 10"), "ok");
  ASSERT_EQ(other.tell("release"), "ok");
  listener.write_line("plenty");
  EXPECT_EQ(listener.read_line(), "version 2");
}

}  // namespace
}  // namespace iw::test
