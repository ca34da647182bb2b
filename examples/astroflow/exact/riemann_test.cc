// The exact Riemann solver against tabulated solutions (gamma 1.4), and its own jump conditions.
#include "exact/riemann.h"

#include <gtest/gtest.h>

#include <cmath>

#include "exact/reference_error.h"

namespace astroflow {
namespace {

struct Row {
  const char* name;
  ShockTube tube;
  double pressure, velocity, density_left, density_right;
  std::vector<double> speeds;  // left to right: the edges of the waves, contact left out
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

// Relative to the value, or to one unit of the last printed digit where the value is tiny.
void expect_digits(double computed, double printed, double unit) {
  EXPECT_NEAR(computed, printed, std::max(unit, 1e-6 * std::abs(printed)));
}

class Table : public testing::TestWithParam<Row> {};

TEST_P(Table, StarRegionAndWaveSpeedsAgree) {
  const Row& row = GetParam();
  const auto exact = ExactRiemann::solve(row.tube);
  ASSERT_TRUE(exact);
  expect_digits(exact->star_pressure(), row.pressure, 1e-6);
  expect_digits(exact->star_velocity(), row.velocity, 1e-6);
  expect_digits(exact->star_density_left(), row.density_left, 1e-6);
  expect_digits(exact->star_density_right(), row.density_right, 1e-6);
  std::vector<double> speeds{exact->left_wave().head};
  if (!exact->left_wave().is_shock) speeds.push_back(exact->left_wave().tail);
  if (!exact->right_wave().is_shock) speeds.push_back(exact->right_wave().tail);
  speeds.push_back(exact->right_wave().head);
  ASSERT_EQ(speeds.size(), row.speeds.size());
  for (size_t i = 0; i < speeds.size(); ++i) expect_digits(speeds[i], row.speeds[i], 1e-6);
}

INSTANTIATE_TEST_SUITE_P(
    GammaOnePointFour, Table,
    testing::Values(Row{"Sod",
                        kSodTube,
                        0.303130,
                        0.927453,
                        0.426319,
                        0.265574,
                        {-1.183216, -0.070273, 1.752156}},
                    Row{"Toro1",
                        {{1, .75, 1}, {.125, 0, .1}, .3},
                        0.466294,
                        1.360906,
                        0.579867,
                        0.339700,
                        {-0.433216, 0.299871, 2.153234}},
                    Row{"Toro2",
                        {{1, -2, .4}, {1, 2, .4}, .5},
                        0.001894,
                        0,
                        0.021852,
                        0.021852,
                        {-2.748331, -0.348331, 0.348331, 2.748331}},
                    Row{"Toro3",
                        {{1, 0, 1000}, {1, 0, .01}, .5},
                        460.8938,
                        19.59745,
                        0.575062,
                        5.999241,
                        {-37.41657, -13.89963, 23.51754}},
                    Row{"Toro4",
                        {{5.99924, 19.5975, 460.894}, {5.99242, -6.19633, 46.095}, .4},
                        1691.647,
                        8.689774,
                        14.28235,
                        31.04260,
                        {0.789594, 12.25078}},
                    Row{"Lax",
                        kLaxTube,
                        2.466098,
                        1.528723,
                        0.344568,
                        1.304085,
                        {-2.633565, -1.636697, 2.479321}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(ExactRiemann, SodWavesStandWhereTheTableSaysAtTimeOneFifth) {
  const auto exact = ExactRiemann::solve(kSodTube);
  ASSERT_TRUE(exact);
  EXPECT_NEAR(0.5 + 0.2 * exact->left_wave().head, .263357, 1e-6);
  EXPECT_NEAR(0.5 + 0.2 * exact->left_wave().tail, .485945, 1e-6);
  EXPECT_NEAR(0.5 + 0.2 * exact->star_velocity(), .685491, 1e-6);
  EXPECT_NEAR(0.5 + 0.2 * exact->right_wave().head, .850431, 1e-6);
}

TEST(ExactRiemann, FanIsContinuousAtBothEdges) {
  const auto exact = ExactRiemann::solve(kLaxTube);
  ASSERT_TRUE(exact);
  for (const double edge : {exact->left_wave().head, exact->left_wave().tail}) {
    const GasState before = exact->at_speed(edge - 1e-9);
    const GasState after = exact->at_speed(edge + 1e-9);
    EXPECT_NEAR(before.density, after.density, 1e-7);
    EXPECT_NEAR(before.velocity, after.velocity, 1e-7);
    EXPECT_NEAR(before.pressure, after.pressure, 1e-7);
  }
}

TEST(ExactRiemann, MirroredTubeHasTheMirroredSolution) {
  const ShockTube mirrored{
      {kLaxTube.right.density, -kLaxTube.right.velocity, kLaxTube.right.pressure},
      {kLaxTube.left.density, -kLaxTube.left.velocity, kLaxTube.left.pressure}};
  const auto a = ExactRiemann::solve(kLaxTube);
  const auto b = ExactRiemann::solve(mirrored);
  ASSERT_TRUE(a && b);
  for (double speed = -3; speed <= 3; speed += 0.01) {
    EXPECT_NEAR(a->at_speed(speed).density, b->at_speed(-speed).density, 1e-12) << speed;
    EXPECT_NEAR(a->at_speed(speed).velocity, -b->at_speed(-speed).velocity, 1e-12) << speed;
  }
}

TEST(ExactRiemann, RefusesVacuumAndStatesThatAreNoGas) {
  EXPECT_FALSE(ExactRiemann::solve({{1, -10, 1}, {1, 10, 1}}));
  EXPECT_FALSE(ExactRiemann::solve({{0, 0, 1}, {1, 0, 1}}));
  EXPECT_FALSE(ExactRiemann::solve({{1, 0, 1}, {1, 0, -1}}));
  EXPECT_FALSE(ExactRiemann::solve({{1, NAN, 1}, {1, 0, 1}}));
}

TEST(ReferenceError, IsZeroForTheExactStateAndTheOffsetForAShiftedOne) {
  constexpr int kCells = 64;
  const auto exact = ExactRiemann::solve(kSodTube);
  ASSERT_TRUE(exact);
  std::vector<double> density(kCells * 2);
  for (int j = 0; j < 2; ++j) {
    for (int i = 0; i < kCells; ++i) {
      density[j * kCells + i] = exact->at((i + 0.5) / kCells, 0.2).density;
    }
  }
  EXPECT_EQ(mean_density_error(kSodTube, density.data(), kCells, 2, 0.2), 0.0);
  for (double& d : density) d += 0.25;
  EXPECT_NEAR(mean_density_error(kSodTube, density.data(), kCells, 2, 0.2).value(), 0.25, 1e-12);
}

}  // namespace
}  // namespace astroflow
