// Runs cut into frames, steering between frames, recovery from a gas that broke down.
#include "simulator/simulation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "exact/reference_error.h"

namespace astroflow {
namespace {

constexpr Grid kSmall{64, 8};

TEST(Simulation, FramesCutTheRunEvenlyAndTheLastIsAtTheEndTime) {
  Simulation sim({ProblemKind::kSod, {}, 8, kSmall});
  for (int frame = 1; frame <= 8; ++frame) {
    EXPECT_FALSE(sim.run_complete());
    sim.advance_frame();
    EXPECT_NEAR(sim.time(), 0.2 * frame / 8, 1e-15);
  }
  EXPECT_TRUE(sim.run_complete());
  EXPECT_EQ(sim.time(), 0.2);
}

TEST(Simulation, RunBeginsAnewAfterItsLastFrame) {
  Simulation sim({ProblemKind::kSod, {}, 2, kSmall});
  for (int frame = 0; frame < 3; ++frame) sim.advance_frame();
  EXPECT_NEAR(sim.time(), 0.1, 1e-15);
  EXPECT_GT(mean_density_error(kSodTube, sim.gas().density, 64, 8, 0.2).value(), 0.02);
  EXPECT_LT(mean_density_error(kSodTube, sim.gas().density, 64, 8, 0.1).value(), 0.02);
}

TEST(Simulation, FramesDoNotChangeTheAnswerMuch) {
  Simulation few({ProblemKind::kLax, {}, 1, kSmall}), many({ProblemKind::kLax, {}, 100, kSmall});
  few.advance_frame();
  for (int frame = 0; frame < 100; ++frame) many.advance_frame();
  EXPECT_GT(many.step(), few.step());
  for (size_t i = 0; i < kSmall.cells(); ++i) {
    EXPECT_NEAR(few.gas().density[i], many.gas().density[i], 0.05);
  }
}

TEST(Simulation, CflIsHeldWithinItsRange) {
  Simulation sim({ProblemKind::kSod, 5.0, {}, kSmall});
  EXPECT_EQ(sim.cfl(), kHighestCfl);
  sim.set_cfl(-1);
  EXPECT_EQ(sim.cfl(), kLowestCfl);
  sim.advance_frame();
  EXPECT_GT(sim.time(), 0);
}

TEST(Simulation, StartingAnotherProblemKeepsTheCflAndChangesTheGas) {
  Simulation sim({ProblemKind::kSod, 0.3, {}, {32, 32}});
  sim.advance_frame();
  sim.start(ProblemKind::kKelvinHelmholtz);
  EXPECT_EQ(sim.time(), 0);
  EXPECT_EQ(sim.cfl(), 0.3);
  EXPECT_EQ(sim.current().kind, ProblemKind::kKelvinHelmholtz);
  sim.advance_frame();
  EXPECT_GT(sim.time(), 0);
}

TEST(Simulation, BrokenGasIsStartedOverAndCounted) {
  Simulation sim({ProblemKind::kSod, 0.7, 10, kSmall});
  sim.advance_frame();
  sim.gas().density[3] = NAN;
  sim.advance_frame();
  EXPECT_EQ(sim.breakdowns(), 1u);
  EXPECT_EQ(sim.time(), 0);
  EXPECT_EQ(sim.cfl(), 0.4);
  sim.advance_frame();
  EXPECT_EQ(sim.breakdowns(), 1u);
  EXPECT_NEAR(sim.time(), 0.02, 1e-15);
}

}  // namespace
}  // namespace astroflow
