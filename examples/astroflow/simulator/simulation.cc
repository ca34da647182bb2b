#include "simulator/simulation.h"

#include <algorithm>

namespace astroflow {

Simulation::Simulation(const SimulationOptions& options)
    : frames_per_run_(options.frames_per_run), state_(options.grid) {
  start(options.problem);
  set_cfl(options.cfl.value_or(problem_->cfl));
}

int Simulation::frames_in_run() const {
  return std::max(1, frames_per_run_.value_or(problem_->frames));
}

void Simulation::start(ProblemKind kind) {
  problem_ = &problem(kind);
  solver_.emplace(grid(), problem_->gamma, problem_->walls);
  set_initial_state(*problem_, grid(), gas());
  time_ = 0;
  time_step_ = 0;
  step_ = 0;
  frame_of_run_ = 0;
}

void Simulation::set_cfl(double cfl) { cfl_ = std::clamp(cfl, kLowestCfl, kHighestCfl); }

void Simulation::advance_frame() {
  if (run_complete()) start(problem_->kind);
  ++frame_of_run_;
  // From the run's end backwards, so that the last frame is at the end time exactly.
  const double left = static_cast<double>(frames_in_run() - frame_of_run_) / frames_in_run();
  const double target = problem_->end_time * (1 - left);
  if (!advance_to(target)) {
    ++breakdowns_;
    set_cfl(std::min(cfl_, problem_->cfl));
    start(problem_->kind);
  }
}

bool Simulation::advance_to(double target) {
  while (time_ < target) {
    const double limit = target - time_;
    const StepResult result = solver_->step(gas(), cfl_, limit);
    if (!result.is_gas) return false;
    time_step_ = result.dt;
    time_ = result.dt >= limit ? target : time_ + result.dt;
    ++step_;
  }
  return true;
}

}  // namespace astroflow
