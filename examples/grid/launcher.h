// Starts the name server and the processes, leads them through the demo, and draws what they see:
//
//   starting -> meeting -> storming -> stopping -> settling -> over
//
// Stopping ends when all processes that live have stopped and each grid has a writer that lives;
// settling when all have the state that its writer named. A process may die at any time, and one
// that does not say what it sees is killed: the others continue, and what the dead one wrote has to
// find its next writer first.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "command_line/stop_signal.h"
#include "command_line/terminal.h"
#include "grid/child_process.h"
#include "grid/options.h"
#include "grid/panels.h"

namespace grid {

class Launcher {
 public:
  Launcher(const LauncherOptions& options, std::string program);
  ~Launcher();
  // The exit status. Throws std::runtime_error if no name server answers.
  int run();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Phase { starting, meeting, storming, stopping, settling, over };
  struct Process {
    std::unique_ptr<ChildProcess> child;
    bool is_alive = true;
    std::optional<Clock::time_point> asked;  // what it sees; it has not said yet
    std::string digest;
  };
  struct Ownership {
    int process = -1;   // -1: no process writes
    std::string stamp;  // as the writer said it last
  };

  void start();
  void start_name_server();
  void wait();
  void hear(int number);
  void take(int number, const std::string& line);
  void take_writes(int number, const std::string& what);
  void bury(int number);
  void take_keys();
  void obey(char key);
  void advance();
  void enter(Phase phase);
  void tell_all(const std::string& order);
  bool have_all_said(const std::string& word) const;
  bool has_each_grid_a_writer() const;
  bool is_stuck() const;
  std::size_t living() const;
  std::string settle_order();
  std::string storm_order(int number) const;
  void ask_all();
  void draw();
  std::vector<std::string> picture(int width, bool has_colours);
  void note(const std::string& event);
  void leave();
  int compare();

  LauncherOptions options_;
  std::string program_;
  command_line::StopSignal stop_;
  std::unique_ptr<command_line::Terminal> terminal_;  // while it is ours
  std::unique_ptr<ChildProcess> name_server_;
  std::vector<Process> processes_;
  std::vector<Ownership> grids_;
  std::vector<Panel> panels_;
  std::map<std::string, std::set<int>> said_;  // since the phase began
  Phase phase_ = Phase::starting;
  Clock::time_point phase_begin_, asked_, drawn_;
  int round_ = 0;
  bool is_input_open_ = true;
  std::deque<std::string> events_;
};

}  // namespace grid
