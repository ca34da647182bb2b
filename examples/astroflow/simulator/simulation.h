// One simulation as its user sees it: a problem that is run to its end time in frames, over and
// over, and that can be steered between frames. Knows nothing of segments.
#pragma once

#include <cstdint>
#include <optional>

#include "solver/problems.h"
#include "solver/solver.h"

namespace astroflow {

struct SimulationOptions {
  ProblemKind problem = ProblemKind::kLiskaWendroff3;
  std::optional<double> cfl;          // the problem's own otherwise
  std::optional<int> frames_per_run;  // the problem's own otherwise
  Grid grid;
};

class Simulation {
 public:
  explicit Simulation(const SimulationOptions& options);

  // Computes until the next frame's time; after the run's last frame it begins the run anew. A
  // gas that breaks down is started over at no more than the problem's own CFL number.
  void advance_frame();

  // Begins a problem at time 0.
  void start(ProblemKind problem);
  // Takes effect with the next step; held within [kLowestCfl, kHighestCfl].
  void set_cfl(double cfl);

  FlowArrays gas() const { return state_.arrays(); }
  const Grid& grid() const { return state_.grid(); }
  const Problem& current() const { return *problem_; }
  double cfl() const { return cfl_; }
  double time() const { return time_; }
  double time_step() const { return time_step_; }
  uint64_t step() const { return step_; }
  unsigned breakdowns() const { return breakdowns_; }
  bool run_complete() const { return frame_of_run_ == frames_in_run(); }

 private:
  int frames_in_run() const;
  bool advance_to(double time);

  std::optional<int> frames_per_run_;
  const Problem* problem_ = nullptr;
  FlowState state_;
  std::optional<Solver> solver_;
  double cfl_ = 0;
  double time_ = 0;
  double time_step_ = 0;
  uint64_t step_ = 0;
  int frame_of_run_ = 0;
  unsigned breakdowns_ = 0;
};

}  // namespace astroflow
