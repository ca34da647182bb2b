// Programs that only wait: they hear again after a lost connection, and of it [CONN-1..4]. Each is
// a process of its own, with callbacks on the library's thread or in an event loop.
#include <gtest/gtest.h>

#include <string>

#include "abi/tests/server_process.h"
#include "interweave.h"

namespace iw::test {
namespace {

class Listening : public ::testing::TestWithParam<const char*> {
 protected:
  explicit Listening(bool is_stored = true)
      : server_({"--store", is_stored ? store_.path() : "memory"}) {}

  // Version 1 is there, and the listener knows it.
  void SetUp() override {
    ASSERT_TRUE(server_.good());
    url_ = server_.url("/heard");
    ASSERT_EQ(other_.tell("open " + url_), "ok");
    ASSERT_EQ(other_.tell("wl"), "ok");
    ASSERT_EQ(other_.tell("make numbers 10"), "ok");
    ASSERT_EQ(other_.tell("release"), "ok");
    ASSERT_EQ(listener_.tell("open " + url_ + " 30"), "ok");
    look();
    ASSERT_EQ(listener_.tell(GetParam()), "ok");
  }

  void look() {
    ASSERT_EQ(listener_.tell("rl"), "ok");
    ASSERT_EQ(listener_.tell("rl_release"), "ok");
  }
  void make_version() { ASSERT_EQ(other_.tell("add numbers 0 1"), "ok"); }
  // What the library called for next.
  std::string heard() { return listener_.tell("hear"); }

  TemporaryDirectory store_;
  Server server_;
  Agent other_;
  Agent listener_;
  std::string url_;
};

class ListeningToMemory : public Listening {
 protected:
  ListeningToMemory() : Listening(false) {}
};

TEST_P(Listening, Conn1AProcessThatOnlyWaitsHearsOfVersionsMadeAfterARestart) {
  ASSERT_EQ(listener_.tell("listen_for change"), "ok");
  server_.kill();
  server_.start();
  make_version();
  EXPECT_EQ(heard(), "version 2");
  look();
  make_version();
  EXPECT_EQ(heard(), "version 3");
}

TEST_P(Listening, Conn2OneCallForWhatWasMadeMeanwhileAndNoneForWhatIsKnown) {
  ASSERT_EQ(listener_.tell("listen_for change"), "ok");
  ASSERT_EQ(listener_.tell("listen_for connection"), "ok");
  make_version();
  EXPECT_EQ(heard(), "version 2");
  // Nothing newer after this restart: no call for version 2 again.
  server_.kill();
  EXPECT_EQ(heard(), "disconnected");
  server_.start();
  EXPECT_EQ(heard(), "connected");
  look();
  make_version();
  EXPECT_EQ(heard(), "version 3");
}

TEST_P(Listening, Conn3AProcessThatListensForItsConnectionIsToldOfEachLossAndReturn) {
  ASSERT_EQ(listener_.tell("listen_for connection"), "ok");
  for (int i = 0; i < 3; ++i) {
    server_.kill();
    EXPECT_EQ(heard(), "disconnected");
    server_.start();
    EXPECT_EQ(heard(), "connected");
  }
}

TEST_P(Listening, Conn4AReleaseThatWasNeverSentIsRolledBack) {
  Agent impatient;
  ASSERT_EQ(impatient.tell("open " + server_.url("/unsent") + " 2"), "ok");
  ASSERT_EQ(impatient.tell(GetParam()), "ok");
  ASSERT_EQ(impatient.tell("listen_for connection"), "ok");
  ASSERT_EQ(impatient.tell("wl_for 20"), "ok");
  ASSERT_EQ(impatient.tell("make numbers 10"), "ok");
  server_.kill();
  EXPECT_EQ(impatient.tell("hear"), "disconnected");
  const std::string answer = impatient.tell("release");
  EXPECT_EQ(answer.rfind("error " + std::to_string(IW_EROLLED_BACK) + " ", 0), 0u) << answer;
  EXPECT_NE(answer.find("was not sent"), std::string::npos) << answer;
  EXPECT_EQ(impatient.tell("release").rfind("error " + std::to_string(IW_ENO_LOCK), 0), 0u);
}

TEST_P(ListeningToMemory, Conn3AProcessThatListensForItsConnectionIsToldThatItsSegmentIsLost) {
  ASSERT_EQ(listener_.tell("listen_for connection"), "ok");
  server_.kill();
  EXPECT_EQ(heard(), "disconnected");
  server_.start();
  EXPECT_EQ(heard(), "lost");
  EXPECT_EQ(listener_.tell("rl").rfind("error " + std::to_string(IW_ESEGMENT_LOST), 0), 0u);
}

TEST_P(ListeningToMemory, Lost4AProcessThatWaitsForChangesIsCalledWhenItsSegmentIsLost) {
  ASSERT_EQ(listener_.tell("listen_for change"), "ok");
  server_.kill();
  server_.start();
  EXPECT_EQ(heard(), "version 1");
  EXPECT_EQ(listener_.tell("rl").rfind("error " + std::to_string(IW_ESEGMENT_LOST), 0), 0u);
}

INSTANTIATE_TEST_SUITE_P(Ways, Listening, ::testing::Values("listen_on_thread", "listen_in_loop"));
INSTANTIATE_TEST_SUITE_P(Ways, ListeningToMemory,
                         ::testing::Values("listen_on_thread", "listen_in_loop"));

}  // namespace
}  // namespace iw::test
