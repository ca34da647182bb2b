// The command line of astroflow-simulator.
#pragma once

#include <string>

#include "simulator/simulation.h"

namespace astroflow {

struct SimulatorOptions {
  std::string url = "127.0.0.1:7747/astroflow";
  SimulationOptions simulation;
  uint64_t frames = 0;  // leave after so many; 0: never
  double max_fps = 0;   // 0: as fast as it can
  bool quiet = false;
  std::string summary_file;
};

// What to do: run, or leave at once with an exit status (after --help, or an error that has been
// printed).
struct SimulatorCommand {
  std::optional<int> exit_status;
  SimulatorOptions options;
};

SimulatorCommand parse_simulator_command(int argc, char** argv);

}  // namespace astroflow
