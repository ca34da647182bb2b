// The builder's command line.
#pragma once

#include <optional>
#include <string>

#include "database/replay.h"
#include "miner/miner.h"
#include "quest/quest.h"

namespace mining {

struct BuilderOptions {
  std::string url = "127.0.0.1:7747/mining";
  std::string data_file;  // empty: synthetic data
  QuestOptions quest;
  MiningOptions mining{.minimum_percent = 2};
  unsigned steps = kGrowingSteps;
  double pause_s = 0;  // between steps
  bool quiet = false;
};

// `exit_status` is set if the program has to end here.
struct BuilderCommand {
  BuilderOptions options;
  std::optional<int> exit_status;
};

BuilderCommand parse_builder_command(int argc, char** argv);

}  // namespace mining
