// Processes that work for this one. They are killed when this ends, and when this process ends in
// whatever way.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "program/program.h"

namespace services {

class ChildProcesses {
 public:
  ChildProcesses() = default;
  ~ChildProcesses();
  ChildProcesses(const ChildProcesses&) = delete;
  ChildProcesses& operator=(const ChildProcesses&) = delete;
  void start(const std::string& program, const std::vector<std::string>& arguments);
  // Throws Failure if one has ended, unless it ended well.
  void check_alive();
  // Until all have ended, and `meanwhile` was called once more; throws Failure if one did not end
  // well, or Interrupted.
  void await_end(
      const command_line::StopSignal& stop, const std::function<void()>& meanwhile = [] {});

 private:
  std::vector<pid_t> children_;  // 0: ended
};

}  // namespace services
