#include "caller/options.h"

#include <cstdio>
#include <optional>
#include <string_view>
#include <vector>

#include "command_line/arguments.h"

namespace stock {
namespace {

constexpr char kProgram[] = "rpc-caller";
constexpr uint64_t kNumberMax = 100'000'000;
constexpr char kHelp[] =
    "Usage: rpc-caller [--url URL] [--callee ADDRESS] COMMAND\n"
    "A stock of parts, a tree in the segment 127.0.0.1:7747/stock, and calls that carry its MIP: "
    "the\n"
    "callee changes the caller's parts where they are.\n"
    "\n"
    "  plant N                        makes a stock of N parts\n"
    "  show                           prints all parts: number, how many there are, price, name\n"
    "  restock BELOW UP_TO            has the callee order what is short\n"
    "  introduce NUMBER PRICE NAME    has the callee put a new part into the tree\n"
    "  compare [CALLS]                by reference and by copy: bytes and time of each call, "
    "where\n"
    "                                 1 % of the parts are sold between one and the next\n"
    "\n"
    "  --copy             restock: the parts travel, there and back, by rpcgen's routines or as "
    "JSON\n"
    "  --root MIP         restock: of the tree from this part on, in any segment\n"
    "  --url URL          another segment\n"
    "  --callee ADDRESS   HOST:PORT of rpc-callee (127.0.0.1:7790), or http://HOST:PORT of "
    "callee.py\n"
    "\n"
    "Examples:\n"
    "  interweave serve --store memory              one terminal\n"
    "  rpc-callee                                   another\n"
    "  rpc-caller plant 1000                        a third\n"
    "  rpc-caller restock 15 20\n"
    "  rpc-caller restock 15 20 --root 127.0.0.1/stock#2\n"
    "  rpc-caller --callee http://127.0.0.1:7791 introduce 42 9.5 sprocket    (callee.py)\n"
    "  rpc-caller compare\n";

using Words = std::vector<std::string_view>;

std::optional<int> number_of(std::string_view text) {
  const auto number = command_line::whole_number(text);
  if (!number || *number > kNumberMax) {
    std::fprintf(stderr, "%s: '%.*s' is not a whole number up to %lu; try --help\n", kProgram,
                 static_cast<int>(text.size()), text.data(),
                 static_cast<unsigned long>(kNumberMax));
    return std::nullopt;
  }
  return static_cast<int>(*number);
}

int refuse(std::string_view what, const char* why) {
  std::fprintf(stderr, "%s: '%.*s' %s; try --help\n", kProgram, static_cast<int>(what.size()),
               what.data(), why);
  return 2;
}

int read_counted(const Words& words, Options& options, Options::Command command) {
  options.command = command;
  const auto count = number_of(words[1]);
  if (!count) return 2;
  if (*count == 0) return refuse(words[1], "is not above 0");
  options.count = static_cast<std::size_t>(*count);
  return 0;
}

int read_restock(const Words& words, Options& options) {
  options.command = Options::Command::kRestock;
  const auto below = number_of(words[1]);
  const auto up_to = number_of(words[2]);
  if (!below || !up_to) return 2;
  if (*up_to < *below) return refuse(words[2], "as UP_TO is less than BELOW");
  options.order = {*below, *up_to};
  return 0;
}

int read_introduce(const Words& words, Options& options) {
  options.command = Options::Command::kIntroduce;
  const auto number = number_of(words[1]);
  const auto price = command_line::decimal_number(words[2]);
  if (!number) return 2;
  if (!price) return refuse(words[2], "is not a price");
  if (words[3].size() > COPIED_NAME_MAX) return refuse(words[3], "is longer than 15 characters");
  options.number = *number;
  options.price = *price;
  options.name = words[3];
  return 0;
}

int read_command(const Words& words, Options& options) {
  constexpr std::size_t kDefaultCalls = 5;
  if (words.empty()) return refuse("", "is not a command");
  const std::string_view command = words[0];
  if (command != "restock" && (options.by_copy || !options.root.empty())) {
    return refuse(command, "takes neither --copy nor --root");
  }
  if (command == "plant" && words.size() == 2) {
    return read_counted(words, options, Options::Command::kPlant);
  }
  if (command == "compare" && words.size() == 2) {
    return read_counted(words, options, Options::Command::kCompare);
  }
  if (command == "compare" && words.size() == 1) {
    options.command = Options::Command::kCompare;
    options.count = kDefaultCalls;
    return 0;
  }
  if (command == "restock" && words.size() == 3) return read_restock(words, options);
  if (command == "introduce" && words.size() == 4) return read_introduce(words, options);
  if (command == "show" && words.size() == 1) return 0;
  return refuse(command, "is not a command, or has the wrong number of words");
}

}  // namespace

int read_options(int argc, char** argv, Options& options) {
  Words words;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--help") {
      std::fputs(kHelp, stdout);
      return 1;
    }
    if (word == "--copy") {
      options.by_copy = true;
    } else if (word == "--url" && i + 1 < argc) {
      options.url = argv[++i];
    } else if (word == "--callee" && i + 1 < argc) {
      options.callee = argv[++i];
    } else if (word == "--root" && i + 1 < argc) {
      options.root = argv[++i];
    } else if (word.starts_with("--")) {
      return refuse(word, "is not an option, or needs a value");
    } else {
      words.push_back(word);
    }
  }
  if (const int status = read_command(words, options); status != 0) return status;
  if (options.by_copy && !options.root.empty()) return refuse("--root", "does not go with --copy");
  return 0;
}

}  // namespace stock
