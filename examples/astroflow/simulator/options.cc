#include "simulator/options.h"

#include "command_line/arguments.h"

namespace astroflow {
namespace {

constexpr char kProgram[] = "astroflow-simulator";

constexpr char kHelp[] =
    R"(Usage: astroflow-simulator [OPTION]...
Simulates a gas in two dimensions and writes every frame into a shared segment.

  --url URL          the segment (127.0.0.1:7747/astroflow)
  --problem NAME     sod, lax, lw3 (Liska-Wendroff 3) or kh (Kelvin-Helmholtz); lw3
  --cfl X            time step as a share of the stable one, 0.05 to 0.8 (0.4)
  --frames N         cut the run to the problem's end time into N frames and leave after the
                     last; without it the problem is run again and again
  --max-fps X        no more than X frames a second
  --quiet            print nothing but errors
  --summary FILE     write a summary as JSON at the end ("-": to standard output)
  --help             this text

Examples:
  astroflow-simulator                            run Liska-Wendroff 3 until Ctrl-C
  astroflow-simulator --problem sod --frames 50  fifty frames of Sod's shock tube
  astroflow-simulator --url host:7747/gas --problem kh --max-fps 30
)";

constexpr uint64_t kMostFrames = 1'000'000'000;

}  // namespace

SimulatorCommand parse_simulator_command(int argc, char** argv) {
  using command_line::decimal_number;
  SimulatorCommand command;
  SimulatorOptions& options = command.options;
  const auto take_frames = [&](const char* text) {
    options.frames = command_line::whole_number(text).value_or(0);
    if (options.frames == 0 || options.frames > kMostFrames) return false;
    options.simulation.frames_per_run = static_cast<int>(options.frames);
    return true;
  };
  const auto take_cfl = [&](const char* text) {
    options.simulation.cfl = decimal_number(text);
    const double cfl = options.simulation.cfl.value_or(0);
    return cfl >= kLowestCfl && cfl <= kHighestCfl;
  };
  const auto take_fps = [&](const char* text) {
    options.max_fps = decimal_number(text).value_or(0);
    return options.max_fps > 0;
  };
  command.exit_status =
      command_line::take_options(kProgram, kHelp, argc, argv,
                                 {command_line::text("url", options.url),
                                  command_line::found("problem", "one of sod, lax, lw3, kh",
                                                      options.simulation.problem, problem_named),
                                  {"cfl", "a number from 0.05 to 0.8", take_cfl},
                                  {"frames", "a whole number from 1 to 1000000000", take_frames},
                                  {"max-fps", "a number above 0", take_fps},
                                  command_line::flag("quiet", options.quiet),
                                  command_line::text("summary", options.summary_file)});
  return command;
}

}  // namespace astroflow
