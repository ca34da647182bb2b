#include "program/input_lines.h"

#include <unistd.h>

namespace services {

std::optional<std::string> InputLines::next() {
  for (;;) {
    const std::size_t end = read_.find('\n');
    if (end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    command_line::wait_readable(STDIN_FILENO, stop_.fd(), -1, -1);
    if (stop_.requested()) return std::nullopt;
    char more[4096];
    const ssize_t count = ::read(STDIN_FILENO, more, sizeof more);
    if (count <= 0) return std::nullopt;
    read_.append(more, static_cast<std::size_t>(count));
  }
}

}  // namespace services
