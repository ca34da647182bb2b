// IW_OPTIMISATIONS: what is switched off shows in the statistics only. The variable is read once
// per process, so each case is an agent of its own; the whole suite runs without them, too
// (native.abi.unoptimised).
#include <gtest/gtest.h>

#include <string>

#include "abi/tests/server_process.h"

namespace iw::test {
namespace {

class OptimisationSwitches : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.good()); }

  Agent opened(const char* words) {
    const EnvironmentVariable switched("IW_OPTIMISATIONS", words);
    Agent agent;
    EXPECT_EQ(agent.tell("open " + server_.url("/switches") + " 30"), "ok") << words;
    return agent;
  }

  Server server_;
};

TEST_F(OptimisationSwitches, AnUnknownWordIsAnErrorThatListsTheKnownOnes) {
  for (const char* words : {"all,-magic", "magic", "-all", "splicing no-diff"}) {
    const EnvironmentVariable switched("IW_OPTIMISATIONS", words);
    Agent agent;
    const std::string answer = agent.tell("open " + server_.url("/switches") + " 30");
    EXPECT_NE(answer.find("IW_OPTIMISATIONS: unknown word"), std::string::npos) << answer;
    EXPECT_NE(
        answer.find(
            "all, none, and with or without '-' before them no-diff, plans, splicing, prediction"),
        std::string::npos)
        << answer;
  }
}

// One int in 2: with splicing one run, without it a run each.
TEST_F(OptimisationSwitches, SplicingIsSwitched) {
  constexpr int stored = 1000;
  const auto bytes_of = [&](const char* words) {
    Agent agent = opened(words);
    EXPECT_EQ(agent.tell("wl"), "ok");
    EXPECT_EQ(agent.tell("make row 100000"), "ok");
    EXPECT_EQ(agent.tell("put row 99999 1"), "ok");
    EXPECT_EQ(agent.tell("release"), "ok");
    const int before = std::stoi(agent.tell("sent"));
    EXPECT_EQ(agent.tell("wl"), "ok");
    EXPECT_EQ(agent.tell("stripe row 2 1000"), "ok");
    EXPECT_EQ(agent.tell("release"), "ok");
    const int bytes = std::stoi(agent.tell("sent")) - before;
    EXPECT_EQ(agent.tell("wl"), "ok");
    EXPECT_EQ(agent.tell("free row"), "ok");
    EXPECT_EQ(agent.tell("release"), "ok");
    return bytes;
  };
  EXPECT_NEAR(bytes_of("all"), stored * 8, 40);
  EXPECT_NEAR(bytes_of("all,-splicing"), stored * 6, 40) << "4 bytes, a gap and a count each";
  EXPECT_NEAR(bytes_of("none"), stored * 6, 40);
  EXPECT_NEAR(bytes_of("none,splicing"), stored * 8, 40);
}

TEST_F(OptimisationSwitches, NoDiffModeIsSwitched) {
  const auto whole_bytes_of = [&](const char* words) {
    Agent agent = opened(words);
    EXPECT_EQ(agent.tell("wl"), "ok");
    EXPECT_EQ(agent.tell("make row 100000"), "ok");
    EXPECT_EQ(agent.tell("release"), "ok");
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(agent.tell("wl"), "ok");
      EXPECT_EQ(agent.tell("stripe row 1 100000"), "ok");
      EXPECT_EQ(agent.tell("release"), "ok");
    }
    const int bytes = std::stoi(agent.tell("whole_bytes"));
    EXPECT_EQ(agent.tell("wl"), "ok");
    EXPECT_EQ(agent.tell("free row"), "ok");
    EXPECT_EQ(agent.tell("release"), "ok");
    return bytes;
  };
  EXPECT_GT(whole_bytes_of("all"), 0);
  EXPECT_EQ(whole_bytes_of("all,-no-diff"), 0);
}

// Blocks that lie one behind the other, all of them changed.
TEST_F(OptimisationSwitches, PredictionIsSwitched) {
  constexpr int blocks = 200;
  const auto searched = [&](const char* words) {
    Agent agent = opened(words);
    EXPECT_EQ(agent.tell("wl"), "ok");
    for (int i = 0; i < blocks; ++i) {
      EXPECT_EQ(agent.tell("make " + std::string(words) + std::to_string(i) + " 1"), "ok");
    }
    EXPECT_EQ(agent.tell("release"), "ok");
    const int before = std::stoi(agent.tell("searched"));
    EXPECT_EQ(agent.tell("wl"), "ok");
    for (int i = 0; i < blocks; ++i) {
      EXPECT_EQ(agent.tell("put " + std::string(words) + std::to_string(i) + " 0 1"), "ok");
    }
    EXPECT_EQ(agent.tell("release"), "ok");
    return std::stoi(agent.tell("searched")) - before;
  };
  EXPECT_LE(searched("all"), 2);
  EXPECT_GE(searched("all,-prediction"), blocks);
}

}  // namespace
}  // namespace iw::test
