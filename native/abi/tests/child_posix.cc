#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "abi/tests/child.h"

namespace iw::test {

struct Child::Running {
  pid_t pid = 0;
  FILE* to = nullptr;
  FILE* from = nullptr;
};

Child::Child() = default;
Child::Child(Child&& other) noexcept = default;

Child& Child::operator=(Child&& other) noexcept {
  kill_now();
  running_ = std::move(other.running_);
  return *this;
}

Child::~Child() { kill_now(); }

Child::Child(const std::vector<std::string>& command, Errors errors)
    : running_(std::make_unique<Running>()) {
  int in[2];
  int out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) std::abort();
  std::vector<char*> arguments;
  for (const std::string& one : command) arguments.push_back(const_cast<char*>(one.c_str()));
  arguments.push_back(nullptr);
  running_->pid = fork();
  if (running_->pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // none outlives a test that crashes
    dup2(in[0], 0);
    dup2(out[1], 1);
    if (errors == Errors::with_output) dup2(out[1], 2);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  running_->to = fdopen(in[1], "w");
  running_->from = fdopen(out[0], "r");
}

void Child::write_line(const std::string& line) {
  std::fprintf(running_->to, "%s\n", line.c_str());
  std::fflush(running_->to);
}

std::string Child::read_line() {
  std::string line;
  FILE* const from = running_->from;
  for (int c = std::getc(from); c != EOF && c != '\n'; c = std::getc(from)) {
    line += static_cast<char>(c);
  }
  return line;
}

void Child::suspend() { ::kill(running_->pid, SIGSTOP); }
void Child::resume() { ::kill(running_->pid, SIGCONT); }

void Child::kill_now() {
  if (running_ == nullptr) return;
  ::kill(running_->pid, SIGKILL);
  (void)wait();
}

int Child::wait() {
  if (running_ == nullptr) return 0;
  const std::unique_ptr<Running> ending = std::move(running_);
  std::fclose(ending->to);
  int status = 0;
  waitpid(ending->pid, &status, 0);
  std::fclose(ending->from);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

EnvironmentVariable::EnvironmentVariable(const std::string& name, const std::string& value)
    : name_(name) {
  const char* const before = std::getenv(name_.c_str());
  was_set_ = before != nullptr;
  if (was_set_) before_ = before;
  setenv(name_.c_str(), value.c_str(), 1);
}

EnvironmentVariable::~EnvironmentVariable() {
  if (was_set_) {
    setenv(name_.c_str(), before_.c_str(), 1);
  } else {
    unsetenv(name_.c_str());
  }
}

// The socket is bound and does not listen, so a server with SO_REUSEADDR can listen on its port.
HeldPort::HeldPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int yes = 1;
  sockaddr_in bound{};
  bound.sin_family = AF_INET;
  bound.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof bound;
  auto* const address = reinterpret_cast<sockaddr*>(&bound);
  if (::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(socket_, address, size) != 0 || ::getsockname(socket_, address, &size) != 0) {
    std::perror("a port for a test's server");
    std::abort();
  }
  address_ = "127.0.0.1:" + std::to_string(ntohs(bound.sin_port));
}

HeldPort::~HeldPort() { ::close(socket_); }

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = std::filesystem::temp_directory_path() / "iw-test-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() { std::filesystem::remove_all(path_); }

}  // namespace iw::test
