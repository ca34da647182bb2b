// The real server, and other clients, as child processes of a test. Nothing here waits by time: the
// server says when it listens, an agent answers each command with one line.
#pragma once

#include <string>
#include <vector>

#include "abi/tests/child.h"

namespace iw::test {

// The `interweave` program: $IW_TEST_SERVER, or the one that this build belongs to.
const char* server_program();

// `interweave serve`, of which IW_TEST_SERVER is the path.
class Server {
 public:
  // Options are added to --listen ADDRESS --http none. Fails the test (and is not good()) if
  // the program is missing or does not start.
  explicit Server(std::vector<std::string> options = {"--store", "memory"});

  [[nodiscard]] bool good() const { return !address_.empty(); }
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] std::string url(const std::string& path) const { return address_ + path; }
  void kill() { child_.kill_now(); }
  void suspend() { child_.suspend(); }
  void resume() { child_.resume(); }
  // Again on the same address, with the same options.
  void start();

 private:
  std::vector<std::string> options_;
  HeldPort port_;
  std::string address_;
  Child child_;
};

// Another client process, told what to do line by line (agent_main.cc).
class Agent {
 public:
  explicit Agent(Child::Errors errors = Child::Errors::ours);
  // The answer: "ok", a value, or "error CODE TEXT".
  std::string tell(const std::string& command);
  // Without waiting for the answer, which is read by answer().
  void begin(const std::string& command) { child_.write_line(command); }
  std::string answer() { return child_.read_line(); }
  Child& child() { return child_; }

 private:
  Child child_;
};

}  // namespace iw::test
