#include "harness/child_server.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <utility>

namespace bench {
namespace {

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "bench: %s\n", what.c_str());
  std::exit(1);
}

// Starts the program with its standard output readable here, its log in `log`.
pid_t start(const std::vector<std::string>& command, const std::string& log, int* output) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) give_up("pipe failed");
  const pid_t pid = fork();
  if (pid < 0) give_up("fork failed");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(ends[1], 1);
    const int log_file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (log_file >= 0) dup2(log_file, 2);
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[1]);
  *output = ends[0];
  return pid;
}

// Reads lines until one contains `mark`; returns it.
std::string wait_for_line(int output, const std::string& mark, const std::string& program) {
  std::string line;
  char c = 0;
  while (read(output, &c, 1) == 1) {
    if (c != '\n') {
      line.push_back(c);
      continue;
    }
    if (line.find(mark) != std::string::npos) return line;
    line.clear();
  }
  give_up(program + " did not start; is it installed?");
}

bool listens(const std::string& path) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  path.copy(at.sun_path, sizeof at.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool is_there = connect(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
  close(fd);
  return is_there;
}

std::string own_folder() {
  char name[] = "/tmp/interweave-bench.XXXXXX";
  if (mkdtemp(name) == nullptr) give_up("mkdtemp failed");
  return name;
}

}  // namespace

ChildServer::ChildServer(ChildServer&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      address_(std::move(other.address_)),
      folder_(std::move(other.folder_)) {}

ChildServer::~ChildServer() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

ChildServer ChildServer::interweave(const std::string& listen, bool is_stored) {
  const char* program = getenv("IW_PROGRAM");
  ChildServer server;
  server.folder_ = own_folder();
  const std::string store = is_stored ? server.folder_ + "/store" : "memory";
  // At another address than 127.0.0.1 clients find no token of the server's own.
  server.listen({program ? program : "interweave", "serve", "--listen", listen, "--http",
                 "127.0.0.1:0", "--store", store, "--insecure"});
  return server;
}

ChildServer ChildServer::listening(const std::vector<std::string>& command) {
  ChildServer server;
  server.folder_ = own_folder();
  server.listen(command);
  return server;
}

void ChildServer::listen(const std::vector<std::string>& command) {
  int output = -1;
  pid_ = start(command, folder_ + "/log", &output);
  const std::string line = wait_for_line(output, "listening ", command[0]);
  address_ = line.substr(line.find(' ') + 1);
}

ChildServer ChildServer::redis(bool is_synced) {
  ChildServer server;
  server.folder_ = own_folder();
  server.address_ = server.folder_ + "/socket";
  int output = -1;
  server.pid_ = start(
      {"redis-server", "--port", "0", "--unixsocket", server.address_, "--save", "", "--appendonly",
       is_synced ? "yes" : "no", "--appendfsync", "always", "--dir", server.folder_},
      server.folder_ + "/log", &output);
  wait_for_line(output, "ready to accept connections", "redis-server");
  return server;
}

// memcached prints that it is ready only if it prints everything.
ChildServer ChildServer::memcached() {
  ChildServer server;
  server.folder_ = own_folder();
  server.address_ = server.folder_ + "/socket";
  int output = -1;
  server.pid_ = start({"memcached", "-u", "root", "-I", "2m", "-s", server.address_},
                      server.folder_ + "/log", &output);
  while (!listens(server.address_)) {
    if (waitpid(server.pid_, nullptr, WNOHANG) != 0) {
      give_up("memcached did not start; is it installed?");
    }
    usleep(1000);
  }
  return server;
}

}  // namespace bench
