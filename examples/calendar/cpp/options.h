// The command line of shared-calendar.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cpp/shared_calendar.h"

namespace agenda {

struct Options {
  enum class Command { kAdd, kAddLines, kMove, kRemove, kList, kWatch };

  std::string url = "127.0.0.1:7747/calendar";
  Command command = Command::kList;
  Entry entry;  // what to add; number and start: what to move or remove
  std::optional<Point> hold;
};

// 0: `options` holds what to do. 1: --help was printed. 2: refused, with the reason on stderr.
int read_options(int argc, char** argv, Options& options);

// START HOURS TITLE... of one appointment. Throws Refused.
void read_appointment(const std::string& start, const std::string& hours, const std::string& title,
                      Entry& entry);

}  // namespace agenda
