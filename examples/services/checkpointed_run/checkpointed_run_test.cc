// Runs whose processes are all killed give, after a restart with more processes, what an unbroken
// run gives.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "checkpointed_run/checkpoint_files.h"
#include "checkpointed_run/run.h"
#include "testing/children.h"

namespace checkpointed_run {
namespace {

using iw::testing::Child;

constexpr std::uint64_t cells = 1001, steps = 40, every = 10;

// A folder of its own, gone at the end.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/checkpoints-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// The result, computed in one piece without anything shared.
std::uint64_t expected_result() {
  Rod rod(cells, {0, cells});
  for (std::uint64_t i = 0; i < steps; i++) rod.step(0, 0);
  return rod.checksum();
}

// Runs to the end; returns what was said first, and the result.
struct Outcome {
  std::string beginning;
  std::uint64_t result;
};
Outcome run_to_end(const Folder& folder, std::uint64_t processes) {
  const command_line::StopSignal stop;
  Outcome outcome;
  const Plan plan{cells, steps, every, processes, UINT64_MAX, folder.path()};
  outcome.result = run_all(CHECKPOINTED_RUN, plan, stop, [&](const std::string& line) {
    if (outcome.beginning.empty() && line.starts_with("continues"))
      outcome.beginning = line.substr(0, line.find(';'));
  });
  return outcome;
}

// Runs until it is held, and kills the coordinator, with which its processes die.
void run_and_kill(const Folder& folder, std::uint64_t processes, std::uint64_t hold_at) {
  Child child("killed_run");
  child.line().say(folder.path().string());
  child.line().say_value(processes);
  child.line().say_value(hold_at);
  while (!child.line().hear_text().starts_with("held")) {
  }
  child.kill();
}

}  // namespace

ROLE(killed_run) {
  const std::string folder = parent.hear_text();
  const auto processes = parent.hear_value<std::uint64_t>();
  const auto hold_at = parent.hear_value<std::uint64_t>();
  const command_line::StopSignal stop;
  const Plan plan{cells, steps, every, processes, hold_at, folder};
  run_all(CHECKPOINTED_RUN, plan, stop, [&](const std::string& line) { parent.say(line); });
  return 0;
}

TEST(CheckpointedRun, GivesTheSameResultWithAnyNumberOfProcesses) {
  for (const std::uint64_t processes : {1, 2, 5}) {
    const Folder folder;
    const Outcome outcome = run_to_end(folder, processes);
    EXPECT_EQ(outcome.beginning, "continues at step 0");
    EXPECT_EQ(outcome.result, expected_result()) << processes;
  }
}

TEST(CheckpointedRun, KilledBetweenCheckpointsGoesOnWithMoreProcesses) {
  const Folder folder;
  run_and_kill(folder, 2, 15);
  run_and_kill(folder, 3, 25);
  const Outcome outcome = run_to_end(folder, 4);
  EXPECT_EQ(outcome.beginning, "continues at step 20");
  EXPECT_EQ(outcome.result, expected_result());
}

TEST(CheckpointedRun, KilledWhileItWritesACheckpointGoesOnAtTheOneBefore) {
  const Folder folder;
  run_and_kill(folder, 3, 30);
  const Outcome outcome = run_to_end(folder, 2);
  EXPECT_EQ(outcome.beginning, "continues at step 20");
  EXPECT_EQ(outcome.result, expected_result());
}

TEST(CheckpointedRun, ADamagedPartMakesItGoOnAtTheCheckpointBefore) {
  const Folder folder;
  run_and_kill(folder, 3, 25);
  {
    std::fstream part(Checkpoint{20, 3}.folder_in(folder.path()) / "part-1",
                      std::ios::in | std::ios::out | std::ios::binary);
    ASSERT_TRUE(part.seekp(200) && part.put('!'));
  }
  const Outcome outcome = run_to_end(folder, 5);
  EXPECT_EQ(outcome.beginning, "continues at step 10");
  EXPECT_EQ(outcome.result, expected_result());
}

TEST(CheckpointedRun, KeepsTwoCheckpointsAndNothingUnfinished) {
  const Folder folder;
  run_to_end(folder, 2);
  const auto kept = checkpoints_in(folder.path(), UINT64_MAX);
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].step, 40u);
  EXPECT_EQ(kept[1].step, 30u);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    EXPECT_NE(entry.path().extension(), ".unfinished");
  }
}

}  // namespace checkpointed_run
