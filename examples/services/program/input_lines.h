// Lines of the standard input, until its end or Ctrl-C.
#pragma once

#include <optional>
#include <string>

#include "command_line/stop_signal.h"

namespace services {

class InputLines {
 public:
  explicit InputLines(const command_line::StopSignal& stop) : stop_(stop) {}
  std::optional<std::string> next();

 private:
  const command_line::StopSignal& stop_;
  std::string read_;
};

}  // namespace services
