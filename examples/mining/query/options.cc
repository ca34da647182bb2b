#include "query/options.h"

#include <getopt.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "command_line/arguments.h"

namespace mining {
namespace {

using command_line::refuse_argument;

constexpr char kProgram[] = "mining-query";

constexpr char kHelp[] =
    R"(Usage: mining-query [OPTION]... [PURCHASE]...
Tells what customers who made these purchases, one after another, buy next; from the lattice that
mining-builder keeps. A purchase is one item, or some that were bought together: ITEM,ITEM. Without
purchases: what customers buy at all.

  --coherence MODEL  how recent is recent enough: full, strict, delta:VERSIONS,
                     temporal:SECONDS or diff:PERCENT of the lattice changed (full)
  --follow           answers again whenever the lattice has changed, until it is finished
  --top N            so many answers, the most frequent first (10)
  --items FILE       items are called by their codes in this file, not by number
  --url URL          the segment (127.0.0.1:7747/mining)
  --help             this text

Examples:
  mining-query 1 6                                  who bought item 1, and item 6 later
  mining-query 1,6                                  who bought both together
  mining-query --items data/online_retail_items.txt 85123A
  mining-query --follow --coherence delta:4 1       a new answer after five versions or more
)";

enum Option { kCoherence = 256, kFollow, kTop, kItems, kUrl, kHelpOption };

constexpr option kOptions[] = {
    {"coherence", required_argument, nullptr, kCoherence},
    {"follow", no_argument, nullptr, kFollow},
    {"top", required_argument, nullptr, kTop},
    {"items", required_argument, nullptr, kItems},
    {"url", required_argument, nullptr, kUrl},
    {"help", no_argument, nullptr, kHelpOption},
    {nullptr, 0, nullptr, 0},
};

std::optional<int> take_coherence(const char* text, QueryOptions& options) {
  const auto choice = command_line::coherence_named(text);
  if (!choice) {
    return refuse_argument(kProgram, "coherence", text,
                           "one of full, strict, delta:VERSIONS, temporal:SECONDS, diff:PERCENT");
  }
  options.coherence = *choice;
  return std::nullopt;
}

// Returns an exit status if the program has to end here.
std::optional<int> take_option(int option, const char* text, QueryOptions& options) {
  switch (option) {
    case kCoherence:
      return take_coherence(text, options);
    case kFollow:
      options.follow = true;
      return std::nullopt;
    case kTop:
      options.most = command_line::whole_number(text).value_or(0);
      if (options.most != 0) return std::nullopt;
      return refuse_argument(kProgram, "top", text, "a whole number above 0");
    case kItems:
      if (const auto wrong = options.names.read(text)) {
        std::fprintf(stderr, "%s: %s\n", kProgram, wrong->c_str());
        return 2;
      }
      return std::nullopt;
    case kUrl:
      options.url = text;
      return std::nullopt;
    case kHelpOption:
      std::fputs(kHelp, stdout);
      return 0;
    default:  // getopt has said what is wrong
      return 2;
  }
}

// Appends the purchase in the one way in which a sequence is written. False: an item is unknown.
bool append_purchase(const char* text, const ItemNames& names, Sequence& sequence) {
  ItemSet items;
  std::istringstream words(text);
  for (std::string name; std::getline(words, name, ',');) {
    const auto item = names.item_named(name);
    if (!item) return false;
    items.push_back(*item);
  }
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
  for (const Item item : items) sequence.push_back({item, item != items.front()});
  return !items.empty();
}

}  // namespace

QueryCommand parse_query_command(int argc, char** argv) {
  QueryCommand command;
  for (int option; (option = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    command.exit_status = take_option(option, optarg, command.options);
    if (command.exit_status) return command;
  }
  for (int i = optind; i < argc; ++i) {
    if (append_purchase(argv[i], command.options.names, command.options.sequence)) continue;
    std::fprintf(stderr, "%s: '%s' is not an item, or items with commas between; try --help\n",
                 kProgram, argv[i]);
    command.exit_status = 2;
  }
  return command;
}

}  // namespace mining
