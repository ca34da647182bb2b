#include "grid/options.h"

#include <cstdio>
#include <random>

#include "command_line/arguments.h"

namespace grid {
namespace {

constexpr char kProgram[] = "grid";

constexpr char kHelp[] =
    R"(Usage: grid [OPTION]...
Starts a name server and some processes. Each process writes a grid of coloured squares with numbers,
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

Keys, or characters on the standard input: q ends the storm; 0 to 9 kill that process (kill -9), whose
grid another one then writes. A w beside a grid says that this process writes it. Ctrl-C ends all.
The exit status is 0 if all grids are the same, 1 if not, and 130 if it was stopped before they were
compared.

Examples:
  grid                                      look
  grid --processes 8 --updates 0 --rate 50  ... and press 3
  grid --plain --rate 0 --seed 7            as fast as it goes, and only the digests
)";

enum Option {
  kProcesses = 256,
  kUpdates,
  kRate,
  kSeed,
  kRows,
  kColumns,
  kPlain,
  kNameServer,
  kPatience,
  kMember,
  kHelpOption
};

constexpr option kOptions[] = {
    {"processes", required_argument, nullptr, kProcesses},
    {"updates", required_argument, nullptr, kUpdates},
    {"rate", required_argument, nullptr, kRate},
    {"seed", required_argument, nullptr, kSeed},
    {"rows", required_argument, nullptr, kRows},
    {"columns", required_argument, nullptr, kColumns},
    {"plain", no_argument, nullptr, kPlain},
    {"name-server", required_argument, nullptr, kNameServer},
    {"patience", required_argument, nullptr, kPatience},
    {"member", required_argument, nullptr, kMember},  // how the processes are started
    {"help", no_argument, nullptr, kHelpOption},
    {nullptr, 0, nullptr, 0},
};

using Refusal = std::optional<int>;

template <typename Number>
Refusal take_number(const char* name, const char* text, std::uint64_t least, std::uint64_t most,
                    Number* number) {
  const auto value = command_line::whole_number(text);
  if (!value || *value < least || *value > most) {
    const std::string range = std::to_string(least) + " to " + std::to_string(most);
    return command_line::refuse_argument(kProgram, name, text, range.c_str());
  }
  *number = static_cast<Number>(*value);
  return std::nullopt;
}

struct Taken {
  LauncherOptions launcher;
  std::optional<int> member;
};

Refusal take_option(int option, const char* text, Taken& taken) {
  LauncherOptions& options = taken.launcher;
  switch (option) {
    case kProcesses:
      return take_number("processes", text, 2, processes_max, &options.processes);
    case kUpdates:
      return take_number("updates", text, 0, UINT64_MAX, &options.updates);
    case kRate:
      return take_number("rate", text, 0, 1000000, &options.rate);
    case kSeed:
      return take_number("seed", text, 0, UINT64_MAX, &options.seed);
    case kRows:
      return take_number("rows", text, 1, side_max, &options.rows);
    case kColumns:
      return take_number("columns", text, 1, side_max, &options.columns);
    case kMember:
      return take_number("member", text, 0, processes_max - 1, &taken.member.emplace());
    case kPlain:
      options.is_plain = true;
      return std::nullopt;
    case kNameServer:
      options.name_server = text;
      return std::nullopt;
    case kPatience: {
      int seconds = 0;
      const Refusal refusal = take_number("patience", text, 1, 86400, &seconds);
      options.patience = std::chrono::seconds(seconds);
      return refusal;
    }
    case kHelpOption:
      std::fputs(kHelp, stdout);
      return 0;
  }
  return 2;  // getopt has said what is wrong
}

}  // namespace

std::variant<int, LauncherOptions, MemberOptions> options_from(int argc, char** argv) {
  Taken taken;
  taken.launcher.seed = std::random_device{}();
  taken.launcher.name_server = GRID_NAME_SERVER;
  const auto status = command_line::take_options(
      kProgram, argc, argv, kOptions,
      [&](int option, const char* text) { return take_option(option, text, taken); });
  if (status) return *status;
  const LauncherOptions& options = taken.launcher;
  if (!taken.member) return options;
  if (*taken.member >= options.processes) {
    return command_line::refuse_argument(kProgram, "member", std::to_string(*taken.member).c_str(),
                                         "a number below --processes");
  }
  return MemberOptions{*taken.member, options.processes, options.rows, options.columns};
}

std::vector<std::string> member_arguments(const MemberOptions& options) {
  return {
      "--member", std::to_string(options.number), "--processes", std::to_string(options.processes),
      "--rows",   std::to_string(options.rows),   "--columns",   std::to_string(options.columns)};
}

}  // namespace grid
