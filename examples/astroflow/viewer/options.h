// The command line of astroflow-viewer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "command_line/coherence_choice.h"
#include "viewer/canvas.h"

namespace astroflow {

struct ViewerOptions {
  std::string url = "127.0.0.1:7747/astroflow";
  command_line::CoherenceChoice coherence;
  uint64_t frames = 0;  // leave once so many frames have been seen; 0: never
  bool until_finished = false;
  bool headless = false;
  std::optional<ColourMode> colour;  // what the terminal promises otherwise
  std::string png_directory;
  std::string summary_file;
};

// What to do: run, or leave at once with an exit status (after --help, or an error that has been
// printed).
struct ViewerCommand {
  std::optional<int> exit_status;
  ViewerOptions options;
};

ViewerCommand parse_viewer_command(int argc, char** argv);

}  // namespace astroflow
