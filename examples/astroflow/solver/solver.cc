// One sweep handles the box row by row, so that a row's faces, fluxes and update stay in the cache:
// fluxes along the row, then through the side it shares with the row above, then its update.
//
// Symmetry under exchange of x and y is exact in every bit: both axes use the same row kernels, and
// the two contributions to a cell are added to each other before anything else (a + b == b + a).
#include "solver/solver.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "solver/hllc.h"
#include "solver/reconstruct.h"

namespace astroflow {
namespace {

// Rows hold (density, x velocity, y velocity, ...); seen along y the velocities change places.
template <typename R>
R as_seen_along_y(R row) {
  std::swap(row[1], row[2]);
  return row;
}

std::array<double*, kVariables> conserved(const FlowArrays& u, size_t at) {
  return {u.density + at, u.momentum_x + at, u.momentum_y + at, u.energy + at, u.tracer + at};
}

void predict(int n, const double* u, const double* west_flux, const double* south_flux,
             const double* north_flux, double dt_over_h, double* __restrict out) {
  for (int i = 0; i < n; ++i) {
    const double along_x = west_flux[i] - west_flux[i + 1];
    const double along_y = south_flux[i] - north_flux[i];
    out[i] = u[i] + dt_over_h * (along_x + along_y);
  }
}

// `u` is read and written: the average of the state before the step and the second Euler step.
void correct(int n, double* __restrict u, const double* predicted, const double* west_flux,
             const double* south_flux, const double* north_flux, double dt_over_h) {
  for (int i = 0; i < n; ++i) {
    const double along_x = west_flux[i] - west_flux[i + 1];
    const double along_y = south_flux[i] - north_flux[i];
    const double second = predicted[i] + dt_over_h * (along_x + along_y);
    u[i] = 0.5 * u[i] + 0.5 * second;
  }
}

}  // namespace

Solver::Solver(Grid grid, double gamma, Walls walls)
    : grid_(grid),
      gamma_(gamma),
      walls_(walls),
      gas_(grid),
      predicted_(grid),
      row_low_(grid.nx + 2),
      row_high_(grid.nx + 2),
      row_flux_(grid.nx + 1),
      below_high_(grid.nx),
      column_low_(grid.nx),
      column_high_(grid.nx),
      lower_flux_(grid.nx),
      upper_flux_(grid.nx) {}

StepResult Solver::step(const FlowArrays& u, double cfl, double dt_limit) {
  const PaddedGas::Extent before = gas_.fill(u, gamma_, walls_);
  if (!(before.lowest_pressure > 0) || !std::isfinite(before.fastest)) return {false, 0};
  const double dt = std::min(cfl * grid_.cell_size() / before.fastest, dt_limit);
  sweep(u, dt, Stage::kPredict);
  const PaddedGas::Extent between = gas_.fill(predicted_.arrays(), gamma_, walls_);
  if (!(between.lowest_pressure > 0)) return {false, dt};
  sweep(u, dt, Stage::kCorrect);
  derive_pressure(u);
  return {true, dt};
}

void Solver::derive_pressure(const FlowArrays& u) const {
  const size_t n = grid_.cells();
  const double *rho = u.density, *mx = u.momentum_x, *my = u.momentum_y, *energy = u.energy;
  double* __restrict pressure = u.pressure;
  for (size_t i = 0; i < n; ++i) {
    const double kinetic = 0.5 * (mx[i] * mx[i] + my[i] * my[i]) / rho[i];
    pressure[i] = (gamma_ - 1) * (energy[i] - kinetic);
  }
}

void Solver::sweep(const FlowArrays& u, double dt, Stage stage) {
  reconstruct_for_columns(-1);
  for (int j = 0; j <= grid_.ny; ++j) {
    std::swap(below_high_, column_high_);
    reconstruct_for_columns(j);
    std::swap(lower_flux_, upper_flux_);
    flux_into_row_from_below();  // the upper side of row j - 1
    if (j > 0) {
      fluxes_along_row(j - 1);
      update_row(u, j - 1, dt, stage);
    }
  }
}

void Solver::fluxes_along_row(int j) {
  const int n = grid_.nx + 2;  // one cell more on either side, for the outermost faces
  const ConstRow cells = gas_.row(j);
  for (int k = 0; k < kVariables; ++k) {
    const double* first = cells[k] - 1;
    reconstruct_row(n, first - 1, first, first + 1, row_low_.row()[k], row_high_.row()[k]);
  }
  hllc_row(grid_.nx + 1, gamma_, row_high_.from(0), row_low_.from(1), row_flux_.row());
}

void Solver::reconstruct_for_columns(int j) {
  const ConstRow before = gas_.row(j - 1), cells = gas_.row(j), after = gas_.row(j + 1);
  for (int k = 0; k < kVariables; ++k) {
    reconstruct_row(grid_.nx, before[k], cells[k], after[k], column_low_.row()[k],
                    column_high_.row()[k]);
  }
}

void Solver::flux_into_row_from_below() {
  hllc_row(grid_.nx, gamma_, as_seen_along_y(below_high_.from(0)),
           as_seen_along_y(column_low_.from(0)), as_seen_along_y(upper_flux_.row()));
}

void Solver::update_row(const FlowArrays& u, int j, double dt, Stage stage) {
  const size_t at = static_cast<size_t>(j) * grid_.nx;
  const auto state = conserved(u, at);
  const auto predicted = conserved(predicted_.arrays(), at);
  const double dt_over_h = dt / grid_.cell_size();
  for (int k = 0; k < kVariables; ++k) {
    const double *west = row_flux_.row()[k], *south = lower_flux_.row()[k],
                 *north = upper_flux_.row()[k];
    if (stage == Stage::kPredict) {
      predict(grid_.nx, state[k], west, south, north, dt_over_h, predicted[k]);
    } else {
      correct(grid_.nx, state[k], predicted[k], west, south, north, dt_over_h);
    }
  }
}

}  // namespace astroflow
