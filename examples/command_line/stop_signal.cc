#include "command_line/stop_signal.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace command_line {
namespace {

// Where the handler can reach them; set before the handler is installed.
std::array<int, 2> stop_pipe{-1, -1};
volatile std::sig_atomic_t stop_requested = 0;
void (*last_words)() noexcept = nullptr;

constexpr int kExitStatusOfSignals = 128;

void on_signal(int signal) {
  const int saved_errno = errno;
  if (stop_requested != 0) {
    if (last_words != nullptr) last_words();
    _exit(kExitStatusOfSignals + signal);
  }
  stop_requested = 1;
  const char byte = 0;
  // The pipe is empty but for this byte: the write cannot fail for want of room.
  [[maybe_unused]] const ssize_t written = ::write(stop_pipe[1], &byte, 1);
  errno = saved_errno;
}

}  // namespace

StopSignal::StopSignal(void (*at_once)() noexcept) {
  last_words = at_once;
  if (stop_pipe[0] < 0 && ::pipe2(stop_pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    stop_pipe = {-1, -1};  // requested() still works, after the present wait
  }
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

bool StopSignal::requested() const { return stop_requested != 0; }

int StopSignal::fd() const { return stop_pipe[0]; }

void wait_readable(int first, int second, int third, int timeout_ms) {
  std::array<pollfd, 3> fds{pollfd{first, POLLIN, 0}, pollfd{second, POLLIN, 0},
                            pollfd{third, POLLIN, 0}};
  ::poll(fds.data(), fds.size(), timeout_ms);  // negative descriptors are skipped
}

}  // namespace command_line
