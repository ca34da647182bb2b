#include "grid/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <system_error>

namespace grid {
namespace {

constexpr int no_such_program = 127;

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category());
  return ends;
}

[[noreturn]] void become(std::vector<std::string>& command, int input, int output, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(no_such_program);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  std::signal(SIGPIPE, SIG_DFL);
  std::vector<char*> words;
  for (std::string& each : command) words.push_back(each.data());
  words.push_back(nullptr);
  execvp(words[0], words.data());
  perror(words[0]);
  _exit(no_such_program);
}

void close_one(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

}  // namespace

ChildProcess::ChildProcess(std::vector<std::string> command) {
  const auto input = make_pipe();
  const auto output = make_pipe();
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) become(command, input[0], output[1], parent);
  ::close(input[0]);
  ::close(output[1]);
  input_ = input[1], output_ = output[0];
  if (pid_ < 0) {
    close_all();
    throw std::system_error(errno, std::generic_category(), "fork");
  }
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) {
    signal(SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close_all();
}

void ChildProcess::close_all() {
  close_one(input_);
  close_one(output_);
}

void ChildProcess::say(const std::string& line) {
  const std::string text = line + "\n";
  [[maybe_unused]] const ssize_t count = ::write(input_, text.data(), text.size());
}

bool ChildProcess::hear(std::vector<std::string>* lines) {
  std::array<char, 65536> bytes;
  const ssize_t count = ::read(output_, bytes.data(), bytes.size());
  if (count < 0) return errno == EINTR;
  heard_.append(bytes.data(), static_cast<std::size_t>(count));
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = heard_.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    lines->push_back(heard_.substr(begin, end - begin));
  }
  heard_.erase(0, begin);
  return count > 0;
}

void ChildProcess::signal(int number) {
  if (pid_ > 0) ::kill(pid_, number);
}

void ChildProcess::end_input() { close_one(input_); }

void ChildProcess::wait_for_end(int patience_ms) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::milliseconds(patience_ms);
  std::vector<std::string> lines;
  bool is_alive = pid_ > 0;
  while (is_alive) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd line{output_, POLLIN, 0};
    if (poll(&line, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) <= 0) {
      signal(SIGKILL);
    }
    is_alive = hear(&lines);
  }
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace grid
