#include "solver/problems.h"

#include <array>
#include <cmath>
#include <numbers>

namespace astroflow {
namespace {

struct Primitive {
  double density;
  double velocity_x;
  double velocity_y;
  double pressure;
  double fraction;  // of the gas that is marked
};

constexpr Walls kTubeWalls{Wall::kOutflow, Wall::kPeriodic};
constexpr Walls kOpenWalls{Wall::kOutflow, Wall::kOutflow};
constexpr Walls kPeriodicWalls{Wall::kPeriodic, Wall::kPeriodic};

constexpr std::array<Problem, 4> kProblems{{
    {ProblemKind::kSod, "sod", "Sod's shock tube", 1.4, 0.4, 0.2, kTubeWalls, 150, 0.1, 1.05,
     &kSodTube},
    {ProblemKind::kLax, "lax", "Lax's shock tube", 1.4, 0.4, 0.13, kTubeWalls, 150, 0.3, 1.4,
     &kLaxTube},
    {ProblemKind::kLiskaWendroff3, "lw3", "Liska-Wendroff configuration 3", 1.4, 0.4, 0.3,
     kOpenWalls, 300, 0.1, 1.8, nullptr},
    {ProblemKind::kKelvinHelmholtz, "kh", "Kelvin-Helmholtz instability", 1.4, 0.4, 2.0,
     kPeriodicWalls, 800, 0.9, 2.1, nullptr},
}};

Primitive in_tube(const ShockTube& tube, double x) {
  const bool left = x < tube.diaphragm;
  const GasState& s = left ? tube.left : tube.right;
  return {s.density, s.velocity, 0, s.pressure, left ? 1.0 : 0.0};
}

// Four constant states, mirror images of each other about the diagonal x = y; four shocks.
Primitive in_liska_wendroff_3(double x, double y) {
  const bool right = x >= 0.5, upper = y >= 0.5;
  if (right && upper) return {1.5, 0, 0, 1.5, 0};
  if (right) return {.5323, 0, 1.206, .3, 0};
  if (upper) return {.5323, 1.206, 0, .3, 0};
  return {.138, 1.206, 1.206, .029, 1};
}

// A heavy band that slides through a light gas; its two edges are smooth over a few cells and
// nudged sideways, twice in the box.
Primitive in_kelvin_helmholtz(double x, double y) {
  constexpr double kEdge = 0.01, kNudge = 0.05, kReach = 0.05;
  const auto bump = [](double d) { return std::exp(-d * d / (2 * kReach * kReach)); };
  const double band = 0.5 * (std::tanh((y - 0.25) / kEdge) - std::tanh((y - 0.75) / kEdge));
  const double push = kNudge * std::sin(4 * std::numbers::pi * x);
  return {1 + band, band - 0.5, push * (bump(y - 0.25) + bump(y - 0.75)), 2.5, band};
}

Primitive initial(const Problem& problem, double x, double y) {
  switch (problem.kind) {
    case ProblemKind::kSod:
    case ProblemKind::kLax:
      return in_tube(*problem.tube, x);
    case ProblemKind::kLiskaWendroff3:
      return in_liska_wendroff_3(x, y);
    case ProblemKind::kKelvinHelmholtz:
      break;
  }
  return in_kelvin_helmholtz(x, y);
}

}  // namespace

std::span<const Problem> problems() { return kProblems; }

const Problem& problem(ProblemKind kind) { return kProblems[static_cast<size_t>(kind) - 1]; }

std::optional<ProblemKind> problem_named(std::string_view name) {
  for (const Problem& p : kProblems) {
    if (p.name == name) return p.kind;
  }
  return std::nullopt;
}

std::optional<ProblemKind> problem_numbered(int number) {
  for (const Problem& p : kProblems) {
    if (static_cast<int>(p.kind) == number) return p.kind;
  }
  return std::nullopt;
}

void set_initial_state(const Problem& problem, const Grid& grid, const FlowArrays& arrays) {
  const double h = grid.cell_size();
  for (int j = 0; j < grid.ny; ++j) {
    for (int i = 0; i < grid.nx; ++i) {
      const Primitive w = initial(problem, (i + 0.5) * h, (j + 0.5) * h);
      const size_t at = static_cast<size_t>(j) * grid.nx + i;
      const double speed2 = w.velocity_x * w.velocity_x + w.velocity_y * w.velocity_y;
      arrays.density[at] = w.density;
      arrays.momentum_x[at] = w.density * w.velocity_x;
      arrays.momentum_y[at] = w.density * w.velocity_y;
      arrays.energy[at] = w.pressure / (problem.gamma - 1) + 0.5 * (w.density * speed2);
      arrays.pressure[at] = w.pressure;
      arrays.tracer[at] = w.density * w.fraction;
    }
  }
}

}  // namespace astroflow
