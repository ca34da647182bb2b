#include "testing/children.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace iw::testing {
namespace {

constexpr int line_fd = 3;  // in the child
constexpr std::uint32_t message_bytes_max = 1 << 20;

std::map<std::string, Role>& roles() {
  static std::map<std::string, Role> all;
  return all;
}

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "process %d gives up: %s\n", getpid(), what);
  std::_Exit(70);
}

void read_all(int fd, std::span<std::byte> to) {
  while (!to.empty()) {
    pollfd one{fd, POLLIN, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(patience).count();
    if (poll(&one, 1, static_cast<int>(left)) <= 0) give_up("the other end says nothing");
    const ssize_t count = read(fd, to.data(), to.size());
    if (count <= 0) give_up("the other end is gone");
    to = to.subspan(static_cast<std::size_t>(count));
  }
}

}  // namespace

void Line::say(std::span<const std::byte> bytes) const {
  const auto length = static_cast<std::uint32_t>(bytes.size());
  std::vector<std::byte> text(sizeof length + bytes.size());
  std::memcpy(text.data(), &length, sizeof length);
  std::copy(bytes.begin(), bytes.end(), text.begin() + sizeof length);
  if (send(fd_, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) {
    give_up("the other end does not listen");
  }
}

void Line::say(const std::string& text) const { say(std::as_bytes(std::span(text))); }

std::vector<std::byte> Line::hear() const {
  std::uint32_t length = 0;
  read_all(fd_, std::as_writable_bytes(std::span(&length, 1)));
  if (length > message_bytes_max) give_up("a message is too long");
  std::vector<std::byte> bytes(length);
  read_all(fd_, bytes);
  return bytes;
}

std::string Line::hear_text() const {
  const auto bytes = hear();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void Line::expect_size(std::size_t is, std::size_t should_be) {
  if (is != should_be) give_up("a value has another size");
}

void Line::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

std::map<std::string, std::string> few_threads(int most) {
  // The sanitizer wants to be loaded first; it hears of each thread all the same.
  const char* const given = std::getenv("ASAN_OPTIONS");
  const std::string options = given == nullptr ? "" : std::string(given) + ":";
  return {{"LD_PRELOAD", FEW_THREADS},
          {"IW_TEST_THREADS", std::to_string(most)},
          {"ASAN_OPTIONS", options + "verify_asan_link_order=0"}};
}

Child::Child(const std::string& role, const std::map<std::string, std::string>& environment) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) give_up("socketpair");
  std::fflush(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) std::_Exit(71);
    if (dup2(ends[1], line_fd) != line_fd) std::_Exit(72);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    execl("/proc/self/exe", "test-child", "--role", role.c_str(), nullptr);
    std::_Exit(73);
  }
  ::close(ends[1]);
  line_ = Line(ends[0]);
}

Child::~Child() {
  if (pid_ > 0) kill();
  line_.close();
}

void Child::signal(int number) const { ::kill(pid_, number); }

void Child::stop() const {
  signal(SIGSTOP);
  int status = 0;
  waitpid(pid_, &status, WUNTRACED);
}

void Child::go_on() const { signal(SIGCONT); }

void Child::kill() {
  signal(SIGKILL);
  wait_for_end();
}

int Child::wait_for_end() {
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) give_up("waitpid");
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

RoleEntry::RoleEntry(const char* name, Role role) { roles()[name] = role; }

int run(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--role") == 0) {
    const auto found = roles().find(argv[2]);
    if (found == roles().end()) give_up("no such role");
    const int status = found->second(Line(line_fd));
    if (status != 0) std::fprintf(stderr, "role %s ends with %d\n", argv[2], status);
    return status;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

}  // namespace iw::testing

extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  // Debian 12's libpmix (5 bytes) and UCX 1.13 (some hundred bytes an endpoint whose peer has left)
  // do not give everything back; what the cluster's own code allocates is looked at all the same.
  return "leak:libpmix\nleak:libucs\nleak:libuct\nleak:libucp\n";
}

int main(int argc, char** argv) { return iw::testing::run(argc, argv); }
