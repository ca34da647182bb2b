// The real terminal: raw keys, its size, and that it is left as it was found. On anything that is
// not a terminal it does nothing and reads no keys.
#pragma once

#include <optional>
#include <string_view>

#include "command_line/terminal_size.h"

namespace command_line {

class Terminal {
 public:
  // Takes over stdin and stdout; at most one Terminal lives at a time.
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool is_drawable() const { return drawable_; }
  bool has_keys() const { return keys_; }
  TerminalSize size() const;
  void write(std::string_view text);
  // A key that was pressed, if any; never waits.
  std::optional<char> key();
  // Readable when key() has one.
  static int key_fd();
  // The terminal was closed: nobody looks any more.
  bool is_gone();

  // Gives the terminal back. Safe inside a signal handler, and more than once.
  static void restore() noexcept;

 private:
  bool drawable_ = false;
  bool keys_ = false;
  bool gone_ = false;
};

}  // namespace command_line
