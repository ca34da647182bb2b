#include "program/child_processes.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "space/patience.h"
#include "space/space.h"

namespace services {
namespace {

// Notes the end of one that has ended; throws Failure if it did not end well.
void reap_one(pid_t* child) {
  int status = 0;
  if (*child == 0 || waitpid(*child, &status, WNOHANG) != *child) return;
  const pid_t ended = *child;
  *child = 0;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  throw Failure("process " + std::to_string(ended) + " that worked for this one " +
                (WIFSIGNALED(status) ? std::string("ended: ") + strsignal(WTERMSIG(status))
                                     : std::string("failed")));
}

}  // namespace

ChildProcesses::~ChildProcesses() {
  for (const pid_t child : children_) {
    if (child == 0) continue;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

void ChildProcesses::start(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<char*> words{const_cast<char*>(program.c_str())};
  for (const std::string& each : arguments) words.push_back(const_cast<char*>(each.c_str()));
  words.push_back(nullptr);
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw Failure("no process could be started; end others");
  if (child > 0) {
    children_.push_back(child);
    return;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == parent) execv(program.c_str(), words.data());
  std::_Exit(127);
}

void ChildProcesses::check_alive() {
  for (pid_t& child : children_) reap_one(&child);
}

void ChildProcesses::await_end(const command_line::StopSignal& stop,
                               const std::function<void()>& meanwhile) {
  const auto is_ended = [](pid_t child) { return child == 0; };
  for (Patience patience;; patience.pause()) {
    if (stop.requested()) throw Interrupted();
    check_alive();
    const bool is_over = std::all_of(children_.begin(), children_.end(), is_ended);
    meanwhile();
    if (is_over) return;
  }
}

}  // namespace services
