#include "builder/options.h"

#include <cstdio>

#include "command_line/arguments.h"
#include "lattice.h"

namespace mining {
namespace {

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
  mining-builder --data data/online_retail_seq.txt --pause 1         )"
    R"(so that readers can watch it grow
  mining-builder --quest --minimum 0.25 --url host:7747/quest
)";

constexpr std::uint64_t kMostCustomers = 10'000'000;
constexpr double kLongestPause_s = 3600;

}  // namespace

BuilderCommand parse_builder_command(int argc, char** argv) {
  using namespace command_line;
  BuilderCommand command;
  BuilderOptions& options = command.options;
  bool is_quest = false;
  bool has_more = false;
  const auto take_argument = [&](const char*) {
    has_more = true;
    return std::nullopt;
  };
  command.exit_status = take_options(
      kProgram, kHelp, argc, argv,
      {text("data", options.data_file), flag("quest", is_quest),
       whole("customers", 1, kMostCustomers, options.quest.customers,
             "a whole number from 1 to 10000000"),
       whole("seed", 0, UINT64_MAX, options.quest.seed, "a whole number"),
       decimal("minimum", 0.01, 100, options.mining.minimum_percent, "a number from 0.01 to 100"),
       whole("longest", 1, PATTERN_ITEMS_MAX, options.mining.longest, "a whole number from 1 to 8"),
       whole("steps", 0, kGrowingSteps, options.steps, "a whole number from 0 to 50"),
       decimal("pause", 0, kLongestPause_s, options.pause_s, "a number from 0 to 3600"),
       text("url", options.url), flag("quiet", options.quiet)},
      take_argument);
  if (!command.exit_status && (has_more || is_quest == !options.data_file.empty())) {
    std::fprintf(stderr, "%s: either --data FILE or --quest is needed, and no more; try --help\n",
                 kProgram);
    command.exit_status = 2;
  }
  return command;
}

}  // namespace mining
