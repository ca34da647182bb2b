// The standard problems: what the gas is at time 0, how long to run, and how to look at it.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "exact/riemann.h"
#include "solver/flow_arrays.h"
#include "solver/padded_gas.h"

namespace astroflow {

// The values are those of flow_problem in astroflow.x.
enum class ProblemKind {
  kSod = 1,
  kLax = 2,
  kLiskaWendroff3 = 3,
  kKelvinHelmholtz = 4,
};

struct Problem {
  ProblemKind kind;
  std::string_view name;   // as on the command line
  std::string_view title;  // for people
  double gamma;
  double cfl;
  double end_time;
  Walls walls;
  int frames;             // that a run to end_time is cut into unless told otherwise
  double low, high;       // the densities at the two ends of the colour scale
  const ShockTube* tube;  // the exact solution, where there is one
};

std::span<const Problem> problems();
const Problem& problem(ProblemKind kind);
std::optional<ProblemKind> problem_named(std::string_view name);
std::optional<ProblemKind> problem_numbered(int number);

// Fills all six arrays with the state at time 0.
void set_initial_state(const Problem& problem, const Grid& grid, const FlowArrays& arrays);

}  // namespace astroflow
