// A program that was started by this one: lines to its standard input, lines from its standard
// output. In a process group of its own, so that Ctrl-C comes to the parent alone, which ends its
// children in order; told to end if the parent dies.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace grid {

class ChildProcess {
 public:
  // Throws std::system_error. The program is looked for in PATH.
  explicit ChildProcess(std::vector<std::string> command);
  ~ChildProcess();  // killed at the latest now
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  int output() const { return output_; }
  // If it does not take it, it is dying: its output's end says so.
  void say(const std::string& line);
  // The lines that have come; false: there will be no more.
  bool hear(std::vector<std::string>* lines);

  void signal(int number);
  void end_input();
  // Until its output ends; killed if that takes longer.
  void wait_for_end(int patience_ms);

 private:
  void close_all();
  pid_t pid_ = -1;
  int input_ = -1, output_ = -1;
  std::string heard_;
};

}  // namespace grid
