// The Fortran solver computes what the C++ solver does, to the last bit: all problems, all walls, a
// box that is not square.
#include <gtest/gtest.h>

#include <cstring>

#include "solver/problems.h"
#include "solver/solver.h"

extern "C" double fortran_steps(int problem, int wall_x, int wall_y, int nx, int ny, int steps,
                                double* density, double* momentum_x, double* momentum_y,
                                double* energy, double* pressure, double* tracer, double* mass);

namespace astroflow {
namespace {

constexpr Grid kBox{70, 41};
constexpr int kSteps = 40;

// flow_solver's numbers.
int fortran_wall(Wall wall) {
  switch (wall) {
    case Wall::kPeriodic:
      return 1;
    case Wall::kReflecting:
      return 2;
    case Wall::kOutflow:
      break;
  }
  return 3;
}

void expect_same_steps(const Problem& problem, Walls walls) {
  FlowState cpp(kBox), fortran(kBox);
  set_initial_state(problem, kBox, cpp.arrays());
  Solver solver(kBox, problem.gamma, walls);
  double time = 0;
  for (int step = 0; step < kSteps; ++step) {
    const StepResult result = solver.step(cpp.arrays(), 0.4, 1.0);
    ASSERT_TRUE(result.is_gas);
    time += result.dt;
  }
  const FlowArrays f = fortran.arrays(), c = cpp.arrays();
  double mass = 0;
  EXPECT_EQ(time, fortran_steps(static_cast<int>(problem.kind), fortran_wall(walls.x),
                                fortran_wall(walls.y), kBox.nx, kBox.ny, kSteps, f.density,
                                f.momentum_x, f.momentum_y, f.energy, f.pressure, f.tracer, &mass));
  EXPECT_EQ(mass, total(kBox, c.density));
  const size_t bytes = kBox.cells() * sizeof(double);
  EXPECT_EQ(std::memcmp(f.density, c.density, bytes), 0);
  EXPECT_EQ(std::memcmp(f.momentum_x, c.momentum_x, bytes), 0);
  EXPECT_EQ(std::memcmp(f.momentum_y, c.momentum_y, bytes), 0);
  EXPECT_EQ(std::memcmp(f.energy, c.energy, bytes), 0);
  EXPECT_EQ(std::memcmp(f.pressure, c.pressure, bytes), 0);
  EXPECT_EQ(std::memcmp(f.tracer, c.tracer, bytes), 0);
}

TEST(FortranSolver, StepsOfAllProblemsAreThoseOfTheCppSolver) {
  for (const Problem& problem : problems()) expect_same_steps(problem, problem.walls);
}

TEST(FortranSolver, MirrorsAreTheSame) {
  expect_same_steps(problem(ProblemKind::kSod), {Wall::kReflecting, Wall::kReflecting});
  expect_same_steps(problem(ProblemKind::kLiskaWendroff3), {Wall::kReflecting, Wall::kPeriodic});
}

}  // namespace
}  // namespace astroflow
