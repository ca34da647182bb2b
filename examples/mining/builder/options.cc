#include "builder/options.h"

#include <getopt.h>

#include <cstdio>

#include "command_line/arguments.h"
#include "lattice.h"

namespace mining {
namespace {

using command_line::decimal_number;
using command_line::refuse_argument;
using command_line::whole_number;

constexpr char kProgram[] = "mining-builder";

constexpr char kHelp[] =
    R"(Usage: mining-builder --data FILE | --quest [OPTION]...
Mines sequences that many customers buy, and shares them as a lattice in a segment: first those of
one half of a database, then, step by step, of 1 % more of it.

  --data FILE        the database: lines `customer rank n item1 ... itemn` (data/SOURCES.md)
  --quest            a synthetic database of 100000 customers instead
  --customers N      so many synthetic customers
  --seed N           another synthetic database (1)
  --minimum PERCENT  of the customers who must have a sequence (2)
  --longest N        items of a sequence, at most (8)
  --steps N          how many times 1 % are added, at most 50 (50)
  --pause SECONDS    between steps (0)
  --url URL          the segment (127.0.0.1:7747/mining); a lattice that it holds is replaced
  --quiet            no progress
  --help             this text

Ctrl-C ends the builder after the present step; what was published stays.

Examples:
  mining-builder --data data/online_retail_seq.txt
  mining-builder --data data/online_retail_seq.txt --pause 1         so that readers can watch it grow
  mining-builder --quest --minimum 0.25 --url host:7747/quest
)";

enum Option {
  kData = 256,
  kQuest,
  kCustomers,
  kSeed,
  kMinimum,
  kLongest,
  kSteps,
  kPause,
  kUrl,
  kQuiet,
  kHelpOption
};

constexpr option kOptions[] = {
    {"data", required_argument, nullptr, kData},
    {"quest", no_argument, nullptr, kQuest},
    {"customers", required_argument, nullptr, kCustomers},
    {"seed", required_argument, nullptr, kSeed},
    {"minimum", required_argument, nullptr, kMinimum},
    {"longest", required_argument, nullptr, kLongest},
    {"steps", required_argument, nullptr, kSteps},
    {"pause", required_argument, nullptr, kPause},
    {"url", required_argument, nullptr, kUrl},
    {"quiet", no_argument, nullptr, kQuiet},
    {"help", no_argument, nullptr, kHelpOption},
    {nullptr, 0, nullptr, 0},
};

constexpr std::uint64_t kMostCustomers = 10'000'000;
constexpr double kLongestPause_s = 3600;

// Stores the number if it is one of those allowed.
template <typename Number>
bool take_whole(const char* text, std::uint64_t least, std::uint64_t most, Number& out) {
  const auto value = whole_number(text);
  if (!value || *value < least || *value > most) return false;
  out = static_cast<Number>(*value);
  return true;
}

bool take_decimal(const char* text, double least, double most, double& out) {
  const auto value = decimal_number(text);
  if (!value || *value < least || *value > most) return false;
  out = *value;
  return true;
}

// Whatever has a number. Returns an exit status if the program has to end here.
std::optional<int> take_number(int option, const char* text, BuilderOptions& options) {
  const auto refuse = [&](const char* name, const char* expected) {
    return std::optional(refuse_argument(kProgram, name, text, expected));
  };
  switch (option) {
    case kCustomers:
      if (take_whole(text, 1, kMostCustomers, options.quest.customers)) return std::nullopt;
      return refuse("customers", "a whole number from 1 to 10000000");
    case kSeed:
      if (take_whole(text, 0, UINT64_MAX, options.quest.seed)) return std::nullopt;
      return refuse("seed", "a whole number");
    case kMinimum:
      if (take_decimal(text, 0.01, 100, options.mining.minimum_percent)) return std::nullopt;
      return refuse("minimum", "a number from 0.01 to 100");
    case kLongest:
      if (take_whole(text, 1, PATTERN_ITEMS_MAX, options.mining.longest)) return std::nullopt;
      return refuse("longest", "a whole number from 1 to 8");
    case kSteps:
      if (take_whole(text, 0, kGrowingSteps, options.steps)) return std::nullopt;
      return refuse("steps", "a whole number from 0 to 50");
    default:
      if (take_decimal(text, 0, kLongestPause_s, options.pause_s)) return std::nullopt;
      return refuse("pause", "a number from 0 to 3600");
  }
}

}  // namespace

BuilderCommand parse_builder_command(int argc, char** argv) {
  BuilderCommand command;
  bool is_quest = false;
  for (int option; (option = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    switch (option) {
      case kData:
        command.options.data_file = optarg;
        break;
      case kQuest:
        is_quest = true;
        break;
      case kUrl:
        command.options.url = optarg;
        break;
      case kQuiet:
        command.options.quiet = true;
        break;
      case kHelpOption:
        std::fputs(kHelp, stdout);
        command.exit_status = 0;
        break;
      case '?':  // getopt has said what is wrong
        command.exit_status = 2;
        break;
      default:
        command.exit_status = take_number(option, optarg, command.options);
    }
    if (command.exit_status) return command;
  }
  if (optind < argc || is_quest == !command.options.data_file.empty()) {
    std::fprintf(stderr, "%s: either --data FILE or --quest is needed, and no more; try --help\n",
                 kProgram);
    command.exit_status = 2;
  }
  return command;
}

}  // namespace mining
