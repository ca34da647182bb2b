#include "simulator/options.h"

#include <getopt.h>

#include <cstdio>

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

enum Option { kUrl = 256, kProblem, kCfl, kFrames, kMaxFps, kQuiet, kSummary, kHelpOption };

constexpr option kOptions[] = {
    {"url", required_argument, nullptr, kUrl},
    {"problem", required_argument, nullptr, kProblem},
    {"cfl", required_argument, nullptr, kCfl},
    {"frames", required_argument, nullptr, kFrames},
    {"max-fps", required_argument, nullptr, kMaxFps},
    {"quiet", no_argument, nullptr, kQuiet},
    {"summary", required_argument, nullptr, kSummary},
    {"help", no_argument, nullptr, kHelpOption},
    {nullptr, 0, nullptr, 0},
};

constexpr uint64_t kMostFrames = 1'000'000'000;

// Returns an exit status if the program has to end here.
std::optional<int> take_option(int option, const char* text, SimulatorOptions& options) {
  switch (option) {
    case kUrl:
      options.url = text;
      return std::nullopt;
    case kProblem: {
      const auto kind = problem_named(text);
      if (!kind)
        return command_line::refuse_argument(kProgram, "problem", text, "one of sod, lax, lw3, kh");
      options.simulation.problem = *kind;
      return std::nullopt;
    }
    case kCfl: {
      options.simulation.cfl = command_line::decimal_number(text);
      const double cfl = options.simulation.cfl.value_or(0);
      if (cfl >= kLowestCfl && cfl <= kHighestCfl) return std::nullopt;
      return command_line::refuse_argument(kProgram, "cfl", text, "a number from 0.05 to 0.8");
    }
    case kFrames:
      options.frames = command_line::whole_number(text).value_or(0);
      if (options.frames == 0 || options.frames > kMostFrames) {
        return command_line::refuse_argument(kProgram, "frames", text,
                                             "a whole number from 1 to 1000000000");
      }
      options.simulation.frames_per_run = static_cast<int>(options.frames);
      return std::nullopt;
    case kMaxFps:
      options.max_fps = command_line::decimal_number(text).value_or(0);
      if (options.max_fps > 0) return std::nullopt;
      return command_line::refuse_argument(kProgram, "max-fps", text, "a number above 0");
    case kQuiet:
      options.quiet = true;
      return std::nullopt;
    case kSummary:
      options.summary_file = text;
      return std::nullopt;
    case kHelpOption:
      std::fputs(kHelp, stdout);
      return 0;
    default:  // getopt has said what is wrong
      return 2;
  }
}

}  // namespace

SimulatorCommand parse_simulator_command(int argc, char** argv) {
  SimulatorCommand command;
  command.exit_status = command_line::take_options(
      kProgram, argc, argv, kOptions,
      [&](int option, const char* text) { return take_option(option, text, command.options); });
  return command;
}

}  // namespace astroflow
