// The command line of rpc-caller.
#pragma once

#include <string>

#include "service.h"

namespace stock {

struct Options {
  enum class Command { kPlant, kShow, kRestock, kIntroduce, kCompare };

  std::string url = "127.0.0.1:7747/stock";
  std::string callee = "127.0.0.1:7790";
  Command command = Command::kShow;
  bool by_copy = false;
  std::string root;       // another tree than the whole stock; empty: that
  std::size_t count = 0;  // of parts (plant), of calls (compare)
  restock_order order{};
  int number = 0;  // of the new part, and what it costs, and its name
  double price = 0;
  std::string name;
};

// 0: `options` holds what to do. 1: --help was printed. 2: refused, with the reason on stderr.
int read_options(int argc, char** argv, Options& options);

}  // namespace stock
