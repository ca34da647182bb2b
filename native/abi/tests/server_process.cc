#include "abi/tests/server_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

namespace iw::test {

Child::Child(const std::vector<std::string>& command) {
  int in[2];
  int out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) std::abort();
  std::vector<char*> arguments;
  for (const std::string& one : command) arguments.push_back(const_cast<char*>(one.c_str()));
  arguments.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // none outlives a test that crashes
    dup2(in[0], 0);
    dup2(out[1], 1);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  to_ = fdopen(in[1], "w");
  from_ = fdopen(out[0], "r");
}

Child::Child(Child&& other) noexcept { *this = std::move(other); }

Child& Child::operator=(Child&& other) noexcept {
  kill_now();
  pid_ = std::exchange(other.pid_, 0);
  to_ = std::exchange(other.to_, nullptr);
  from_ = std::exchange(other.from_, nullptr);
  return *this;
}

void Child::write_line(const std::string& line) {
  std::fprintf(to_, "%s\n", line.c_str());
  std::fflush(to_);
}

std::string Child::read_line() {
  std::string line;
  for (int c = std::getc(from_); c != EOF && c != '\n'; c = std::getc(from_)) {
    line += static_cast<char>(c);
  }
  return line;
}

void Child::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

void Child::kill_now() {
  signal(SIGKILL);
  (void)wait();
}

int Child::wait() {
  if (pid_ <= 0) return 0;
  if (to_ != nullptr) std::fclose(std::exchange(to_, nullptr));
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = 0;
  if (from_ != nullptr) std::fclose(std::exchange(from_, nullptr));
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

Server::Server(std::vector<std::string> options) : options_(std::move(options)) { start(); }

void Server::start() {
  const char* const given = std::getenv("IW_TEST_SERVER");
  const char* const program = given != nullptr ? given : IW_TEST_SERVER_DEFAULT;
  if (access(program, X_OK) != 0) {
    ADD_FAILURE() << "the server program " << program
                  << " is missing: build it (cargo build "
                     "--release), or set IW_TEST_SERVER to one";
    return;
  }
  const std::string listen = address_.empty() ? "127.0.0.1:0" : address_;
  std::vector<std::string> command{program, "serve", "--listen", listen, "--http", "none"};
  command.insert(command.end(), options_.begin(), options_.end());
  child_ = Child(command);
  const std::string line = child_.read_line();
  const std::string word = "listening ";
  if (line.rfind(word, 0) != 0) {
    ADD_FAILURE() << "the server did not start; it said: '" << line << "'";
    return;
  }
  address_ = line.substr(word.size());
}

namespace {

const char* agent_program() {
  const char* const program = std::getenv("IW_TEST_AGENT");
  if (program != nullptr) return program;
  std::fputs("IW_TEST_AGENT is not set: run these tests with ctest\n", stderr);
  std::abort();
}

}  // namespace

Agent::Agent() : child_({agent_program()}) {}

std::string Agent::tell(const std::string& command) {
  child_.write_line(command);
  return child_.read_line();
}

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = std::filesystem::temp_directory_path() / "iw-test-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() { std::filesystem::remove_all(path_); }

}  // namespace iw::test
