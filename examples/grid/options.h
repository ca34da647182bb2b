// The command line of `grid`.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "grid/member.h"

namespace grid {

inline constexpr int processes_max = 10;  // each has a key

struct LauncherOptions {
  int processes = 4;
  int rows = 4;
  int columns = 8;
  std::uint64_t updates = 2000;  // of each process; 0: no end
  double rate = 200;             // a second, of each; 0: as fast as it goes
  std::uint64_t seed = 0;
  std::chrono::seconds patience{60};  // with who does not answer
  bool is_plain = false;
  std::string name_server;
};

// An exit status if the program has to end here.
std::variant<int, LauncherOptions, MemberOptions> options_from(int argc, char** argv);

// The command line of a member, without the program.
std::vector<std::string> member_arguments(const MemberOptions& options);

}  // namespace grid
