// The primitive variables of the whole box with two ghost cells on every side, which stand for
// what lies beyond the walls.
#pragma once

#include "solver/flow_arrays.h"
#include "solver/gas_rows.h"

namespace astroflow {

enum class Wall {
  kPeriodic,    // what leaves on one side comes in on the other
  kReflecting,  // a mirror
  kOutflow,     // the last cell repeats for ever
};

// The same kind on both sides of an axis.
struct Walls {
  Wall x = Wall::kOutflow;
  Wall y = Wall::kOutflow;
};

class PaddedGas {
 public:
  static constexpr int kGhosts = 2;

  explicit PaddedGas(Grid grid);

  struct Extent {
    double fastest;          // the largest (|u| + c) + (|v| + c)
    double lowest_pressure;  // 0 if some cell is not a gas (density or pressure <= 0 or NaN)
  };
  // Computes the primitives of `u` (pressure and all, from the conserved arrays) and the ghosts.
  Extent fill(const FlowArrays& u, double gamma, const Walls& walls);

  // Row j (-2 .. ny+1) from column 0 on, as density, x velocity, y velocity, pressure, fraction.
  ConstRow row(int j) const;

 private:
  void fill_interior_row(const FlowArrays& u, double gamma, int j);
  void fill_side_ghosts(Wall wall, int j);
  void fill_ghost_rows(Wall wall);
  double* cell(int variable, int j, int i);

  Grid grid_;
  size_t stride_;
  size_t plane_;
  std::vector<double> storage_;
  std::vector<double> fastest_;  // per column, so that the search is vector code
  std::vector<double> lowest_pressure_;
};

}  // namespace astroflow
