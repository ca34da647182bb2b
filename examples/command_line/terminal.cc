#include "command_line/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace command_line {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";  // other screen, no cursor
constexpr std::string_view kLeave = "\x1b[0m\x1b[?25h\x1b[?1049l";

// What restore() needs, where a signal handler can reach it. Written before the flags are set.
termios original_settings;
volatile std::sig_atomic_t settings_changed = 0;
volatile std::sig_atomic_t screen_taken = 0;

// False: the terminal is gone.
bool write_all(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n > 0) {
      text.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd ready{STDOUT_FILENO, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool take_keys() {
  if (isatty(STDIN_FILENO) == 0) return false;
  if (tcgetpgrp(STDIN_FILENO) != getpgrp()) return false;  // in the background: not our keys
  if (tcgetattr(STDIN_FILENO, &original_settings) != 0) return false;
  termios raw = original_settings;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  raw.c_cc[VSUSP] = _POSIX_VDISABLE;  // a stopped program would leave the drawing screen behind
  settings_changed = 1;
  return tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

}  // namespace

Terminal::Terminal() {
  const char* const kind = std::getenv("TERM");
  const bool can_draw = kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb";
  drawable_ = can_draw && isatty(STDOUT_FILENO) != 0;
  keys_ = take_keys();
  if (drawable_) {
    screen_taken = 1;
    write_all(kEnter);
  }
}

Terminal::~Terminal() { restore(); }

void Terminal::restore() noexcept {
  if (screen_taken != 0) {
    screen_taken = 0;
    write_all(kLeave);
  }
  if (settings_changed != 0) {
    settings_changed = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &original_settings);
  }
}

TerminalSize Terminal::size() const {
  winsize window{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0 || window.ws_row == 0) {
    return {};
  }
  return {window.ws_col, window.ws_row};
}

void Terminal::write(std::string_view text) {
  if (!write_all(text)) gone_ = true;
}

bool Terminal::is_gone() {
  pollfd line{keys_ ? STDIN_FILENO : STDOUT_FILENO, 0, 0};
  if (::poll(&line, 1, 0) == 1 && (line.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0)
    gone_ = true;
  return gone_;
}

int Terminal::key_fd() { return STDIN_FILENO; }

std::optional<char> Terminal::key() {
  char c = 0;
  if (keys_ && ::read(STDIN_FILENO, &c, 1) == 1) return c;
  return std::nullopt;
}

}  // namespace command_line
