#include "query/options.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "command_line/arguments.h"

namespace mining {
namespace {

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
  using namespace command_line;
  QueryCommand command;
  QueryOptions& options = command.options;
  const auto take_items = [&](const char* file) {
    const auto wrong = options.names.read(file);
    if (wrong) std::fprintf(stderr, "%s: %s\n", kProgram, wrong->c_str());
    return !wrong;
  };
  const auto take_purchase = [&](const char* purchase) -> std::optional<int> {
    if (append_purchase(purchase, options.names, options.sequence)) return std::nullopt;
    std::fprintf(stderr, "%s: '%s' is not an item, or items with commas between; try --help\n",
                 kProgram, purchase);
    return 2;
  };
  command.exit_status = take_options(
      kProgram, kHelp, argc, argv,
      {found("coherence", "one of full, strict, delta:VERSIONS, temporal:SECONDS, diff:PERCENT",
             options.coherence, coherence_named),
       flag("follow", options.follow),
       whole("top", 1, SIZE_MAX, options.most, "a whole number above 0"),
       {"items", "", take_items},
       text("url", options.url)},
      take_purchase);
  return command;
}

}  // namespace mining
