#include "viewer/options.h"

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

}  // namespace

ViewerCommand parse_viewer_command(int argc, char** argv) {
  ViewerCommand command;
  ViewerOptions& options = command.options;
  command_line::Option colour =
      command_line::found("colour", "one of 24bit, 256, ascii", options.colour, colour_mode_named);
  colour.other_spelling = "color";
  command.exit_status = command_line::take_options(
      kProgram, kHelp, argc, argv,
      {command_line::text("url", options.url),
       command_line::found("coherence", "one of full, strict, delta:VERSIONS, temporal:SECONDS",
                           options.coherence, command_line::coherence_named),
       command_line::whole("frames", 1, UINT64_MAX, options.frames, "a whole number above 0"),
       command_line::flag("until-finished", options.until_finished),
       command_line::flag("headless", options.headless), colour,
       command_line::text("png", options.png_directory),
       command_line::text("summary", options.summary_file)});
  return command;
}

}  // namespace astroflow
