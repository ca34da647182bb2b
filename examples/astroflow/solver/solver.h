// The time step of the compressible-gas solver: finite volumes, MUSCL reconstruction of the
// primitive variables, HLLC fluxes along both axes at once (unsplit) and the two-stage
// strong-stability-preserving Runge-Kutta method. Second order in space and time.
//
// The solver keeps scratch space only: the gas is in the caller's arrays, which may be private
// memory or the blocks of a shared segment. A step is deterministic and does not depend on history.
#pragma once

#include "solver/padded_gas.h"

namespace astroflow {

// The range of the CFL number that is allowed to be asked for.
inline constexpr double kLowestCfl = 0.05;
inline constexpr double kHighestCfl = 0.8;

struct StepResult {
  bool is_gas;  // false: density or pressure fell to zero or below, or became NaN
  double dt;
};

class Solver {
 public:
  Solver(Grid grid, double gamma, Walls walls);

  // Advances the arrays by one time step: as long as `cfl` allows, but not longer than `dt_limit`.
  // Where the result is not a gas the arrays are of no use any more.
  StepResult step(const FlowArrays& u, double cfl, double dt_limit);

  // Sets the pressure from the conserved arrays; step() does so too.
  void derive_pressure(const FlowArrays& u) const;

 private:
  // The part of a Runge-Kutta stage that differs: what to do with a row's rate of change.
  enum class Stage { kPredict, kCorrect };

  void sweep(const FlowArrays& u, double dt, Stage stage);
  void fluxes_along_row(int j);
  void reconstruct_for_columns(int j);
  void flux_into_row_from_below();
  void update_row(const FlowArrays& u, int j, double dt, Stage stage);

  Grid grid_;
  double gamma_;
  Walls walls_;
  PaddedGas gas_;
  FlowState predicted_;
  // Faces of one row of cells, and fluxes: along the row, through its lower and its upper side.
  RowBuffer row_low_, row_high_, row_flux_;
  RowBuffer below_high_, column_low_, column_high_;
  RowBuffer lower_flux_, upper_flux_;
};

}  // namespace astroflow
