// Ctrl-C and its like as something a poll loop can wait for. The first signal asks the program to
// stop; a second one ends it at once.
#pragma once

namespace command_line {

class StopSignal {
 public:
  // Catches SIGINT, SIGTERM and SIGHUP from now on. `at_once` runs before a second signal ends the
  // program; it is called inside the signal handler.
  explicit StopSignal(void (*at_once)() noexcept = nullptr);

  bool requested() const;
  // Becomes readable, and stays so, when a stop is requested.
  int fd() const;
};

// Waits until one of the descriptors is readable (-1 is skipped) or the time is over.
void wait_readable(int first, int second, int third, int timeout_ms);

}  // namespace command_line
