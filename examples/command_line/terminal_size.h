// How many characters a terminal shows.
#pragma once

namespace command_line {

struct TerminalSize {
  int columns = 80;
  int rows = 24;
};

}  // namespace command_line
