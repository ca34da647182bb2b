#include "viewer/options.h"

#include <getopt.h>

#include <cstdio>

#include "command_line/arguments.h"

namespace astroflow {
namespace {

constexpr char kProgram[] = "astroflow-viewer";

constexpr char kHelp[] =
    R"(Usage: astroflow-viewer [OPTION]...
Shows the density of a running simulation in the terminal, and steers it.

  --url URL          the segment (127.0.0.1:7747/astroflow)
  --coherence MODEL  how recent is recent enough: temporal:SECONDS, delta:VERSIONS, full or
                     strict (temporal:0.2)
  --frames N         leave once N different frames have been seen
  --until-finished   leave when the simulator has written its last frame
  --headless         draw nothing
  --colour MODE      24bit, 256 or ascii; what the terminal says it can do otherwise
  --png DIR          write every frame seen to DIR/frame-NNNNNN.png
  --summary FILE     write a summary as JSON at the end ("-": to standard output)
  --help             this text

Keys: p pause or go on, + and - change the CFL number, 1 Sod, 2 Lax, 3 Liska-Wendroff 3,
4 Kelvin-Helmholtz, s save the picture as PNG, q quit.

Examples:
  astroflow-viewer                                watch, at most 0.2 s behind
  astroflow-viewer --coherence temporal:2         a picture every 2 s, and so much less traffic
  astroflow-viewer --headless --png frames --until-finished
)";

enum Option {
  kUrl = 256,
  kCoherence,
  kFrames,
  kUntilFinished,
  kHeadless,
  kColour,
  kPng,
  kSummary,
  kHelpOption
};

constexpr option kOptions[] = {
    {"url", required_argument, nullptr, kUrl},
    {"coherence", required_argument, nullptr, kCoherence},
    {"frames", required_argument, nullptr, kFrames},
    {"until-finished", no_argument, nullptr, kUntilFinished},
    {"headless", no_argument, nullptr, kHeadless},
    {"colour", required_argument, nullptr, kColour},
    {"color", required_argument, nullptr, kColour},
    {"png", required_argument, nullptr, kPng},
    {"summary", required_argument, nullptr, kSummary},
    {"help", no_argument, nullptr, kHelpOption},
    {nullptr, 0, nullptr, 0},
};

// Returns an exit status if the program has to end here.
std::optional<int> take_option(int option, const char* text, ViewerOptions& options) {
  switch (option) {
    case kUrl:
      options.url = text;
      return std::nullopt;
    case kCoherence: {
      const auto choice = command_line::coherence_named(text);
      if (!choice) {
        return command_line::refuse_argument(
            kProgram, "coherence", text, "one of full, strict, delta:VERSIONS, temporal:SECONDS");
      }
      options.coherence = *choice;
      return std::nullopt;
    }
    case kFrames:
      options.frames = command_line::whole_number(text).value_or(0);
      if (options.frames != 0) return std::nullopt;
      return command_line::refuse_argument(kProgram, "frames", text, "a whole number above 0");
    case kUntilFinished:
      options.until_finished = true;
      return std::nullopt;
    case kHeadless:
      options.headless = true;
      return std::nullopt;
    case kColour:
      options.colour = colour_mode_named(text);
      if (options.colour) return std::nullopt;
      return command_line::refuse_argument(kProgram, "colour", text, "one of 24bit, 256, ascii");
    case kPng:
      options.png_directory = text;
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

ViewerCommand parse_viewer_command(int argc, char** argv) {
  ViewerCommand command;
  command.exit_status = command_line::take_options(
      kProgram, argc, argv, kOptions,
      [&](int option, const char* text) { return take_option(option, text, command.options); });
  return command;
}

}  // namespace astroflow
