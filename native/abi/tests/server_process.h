// The real server, and other clients, as child processes of a test. Nothing here waits by time: the
// server says when it listens, an agent answers each command with one line.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

namespace iw::test {

// A child with its stdin and stdout connected to us.
class Child {
 public:
  Child() = default;
  explicit Child(const std::vector<std::string>& command);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child() { kill_now(); }

  void write_line(const std::string& line);
  // Without its end; "" at the end of the child's output.
  std::string read_line();
  void signal(int number) const;
  // kill -9 and wait.
  void kill_now();
  // Waits for its end; the exit status, or -signal.
  int wait();
  [[nodiscard]] bool is_running() const { return pid_ > 0; }

 private:
  pid_t pid_ = 0;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
};

// `interweave serve`, of which IW_TEST_SERVER is the path.
class Server {
 public:
  // Options are added to --listen 127.0.0.1:0 --http none. Fails the test (and is not good()) if
  // the program is missing or does not start.
  explicit Server(std::vector<std::string> options = {"--store", "memory"});

  [[nodiscard]] bool good() const { return !address_.empty(); }
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] std::string url(const std::string& path) const { return address_ + path; }
  void kill() { child_.kill_now(); }
  void signal(int number) const { child_.signal(number); }
  // Again on the same address, with the same options.
  void start();

 private:
  std::vector<std::string> options_;
  std::string address_;
  Child child_;
};

// Another client process, told what to do line by line (agent_main.cc).
class Agent {
 public:
  Agent();
  // The answer: "ok", a value, or "error CODE TEXT".
  std::string tell(const std::string& command);
  // Without waiting for the answer, which is read by answer().
  void begin(const std::string& command) { child_.write_line(command); }
  std::string answer() { return child_.read_line(); }
  Child& child() { return child_; }

 private:
  Child child_;
};

// A directory that is removed at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace iw::test
