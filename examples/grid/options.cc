#include "grid/options.h"

#include <random>

#include "command_line/arguments.h"

namespace grid {
namespace {

constexpr char kProgram[] = "grid";

constexpr char kHelp[] =
    R"(Usage: grid [OPTION]...
Starts a name server and some processes. Each process writes a grid of coloured squares with )"
    R"(numbers,
and reads the grids of all others; what each sees is drawn beside the others. A storm of random
updates runs in all of them. When it is over, all must see the same: a digest of each says so.

  --processes N       2 to 10 (4)
  --updates N         of each process; 0: until q is pressed (2000)
  --rate N            updates a second of each process; 0: as fast as it goes (200)
  --seed N            of the storm (another each time; it is printed)
  --rows N            of each grid (4)
  --columns N         of each grid (8)
  --plain             draw nothing but the end, without colours; so it is where there is no
                      terminal
  --name-server FILE  the program to start as the name server (interweave-amns)
  --patience N        seconds for which a process may be silent before it is killed (60)
  --help              this text

Keys, or characters on the standard input: q ends the storm; 0 to 9 kill that process (kill -9), )"
    R"(whose
grid another one then writes. A w beside a grid says that this process writes it. Ctrl-C ends all.
The exit status is 0 if all grids are the same, 1 if not, and 130 if it was stopped before they were
compared.

Examples:
  grid                                      look
  grid --processes 8 --updates 0 --rate 50  ... and press 3
  grid --plain --rate 0 --seed 7            as fast as it goes, and only the digests
)";

// A number of this range.
template <typename Number>
command_line::Option number(const char* name, std::uint64_t least, std::uint64_t most,
                            Number& out) {
  return command_line::whole(name, least, most, out,
                             std::to_string(least) + " to " + std::to_string(most));
}

}  // namespace

std::variant<int, LauncherOptions, MemberOptions> options_from(int argc, char** argv) {
  LauncherOptions options;
  options.seed = std::random_device{}();
  options.name_server = GRID_NAME_SERVER;
  std::int64_t patience_s = options.patience.count();
  int member = -1;  // none; how the processes are started
  const auto status = command_line::take_options(
      kProgram, kHelp, argc, argv,
      {number("processes", 2, processes_max, options.processes),
       number("updates", 0, UINT64_MAX, options.updates), number("rate", 0, 1000000, options.rate),
       number("seed", 0, UINT64_MAX, options.seed), number("rows", 1, side_max, options.rows),
       number("columns", 1, side_max, options.columns),
       command_line::flag("plain", options.is_plain),
       command_line::text("name-server", options.name_server),
       number("patience", 1, 86400, patience_s), number("member", 0, processes_max - 1, member)});
  if (status) return *status;
  options.patience = std::chrono::seconds(patience_s);
  if (member < 0) return options;
  if (member >= options.processes) {
    return command_line::refuse_argument(kProgram, "member", std::to_string(member).c_str(),
                                         "a number below --processes");
  }
  return MemberOptions{member, options.processes, options.rows, options.columns};
}

std::vector<std::string> member_arguments(const MemberOptions& options) {
  return {
      "--member", std::to_string(options.number), "--processes", std::to_string(options.processes),
      "--rows",   std::to_string(options.rows),   "--columns",   std::to_string(options.columns)};
}

}  // namespace grid
