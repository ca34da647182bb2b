#include "solver/padded_gas.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace astroflow {
namespace {

constexpr int kVelocityX = 1;
constexpr int kVelocityY = 2;

// The interior index whose value a ghost `depth` (1, 2) cells outside the low or high wall takes.
int source_index(Wall wall, int n, int depth, bool low) {
  switch (wall) {
    case Wall::kPeriodic:
      return low ? n - depth : depth - 1;
    case Wall::kReflecting:
      return low ? depth - 1 : n - depth;
    case Wall::kOutflow:
      break;
  }
  return low ? 0 : n - 1;
}

}  // namespace

PaddedGas::PaddedGas(Grid grid)
    : grid_(grid),
      stride_(static_cast<size_t>(grid.nx) + 2 * kGhosts),
      plane_(stride_ * (static_cast<size_t>(grid.ny) + 2 * kGhosts)),
      storage_(kVariables * plane_),
      fastest_(grid.nx),
      lowest_pressure_(grid.nx) {}

double* PaddedGas::cell(int variable, int j, int i) {
  return storage_.data() + variable * plane_ + static_cast<size_t>(j + kGhosts) * stride_ +
         static_cast<size_t>(i + kGhosts);
}

ConstRow PaddedGas::row(int j) const {
  ConstRow row;
  for (int k = 0; k < kVariables; ++k) row[k] = const_cast<PaddedGas*>(this)->cell(k, j, 0);
  return row;
}

PaddedGas::Extent PaddedGas::fill(const FlowArrays& u, double gamma, const Walls& walls) {
  std::fill(fastest_.begin(), fastest_.end(), 0.0);
  std::fill(lowest_pressure_.begin(), lowest_pressure_.end(),
            std::numeric_limits<double>::infinity());
  for (int j = 0; j < grid_.ny; ++j) {
    fill_interior_row(u, gamma, j);
    fill_side_ghosts(walls.x, j);
  }
  fill_ghost_rows(walls.y);
  Extent extent{0, std::numeric_limits<double>::infinity()};
  for (int i = 0; i < grid_.nx; ++i) {
    extent.fastest = std::max(extent.fastest, fastest_[i]);
    extent.lowest_pressure = std::min(extent.lowest_pressure, lowest_pressure_[i]);
  }
  return extent;
}

void PaddedGas::fill_interior_row(const FlowArrays& u, double gamma, int j) {
  const size_t at = static_cast<size_t>(j) * grid_.nx;
  const double *density = u.density + at, *mx = u.momentum_x + at, *my = u.momentum_y + at,
               *energy = u.energy + at, *tracer = u.tracer + at;
  double* __restrict rho = cell(0, j, 0);
  double* __restrict vx = cell(1, j, 0);
  double* __restrict vy = cell(2, j, 0);
  double* __restrict p = cell(3, j, 0);
  double* __restrict fraction = cell(4, j, 0);
  double* __restrict fastest = fastest_.data();
  double* __restrict lowest = lowest_pressure_.data();
  for (int i = 0; i < grid_.nx; ++i) {
    const double r = density[i];
    const double inverse = 1 / r;
    const double x = mx[i] * inverse;
    const double y = my[i] * inverse;
    const double pressure = (gamma - 1) * (energy[i] - 0.5 * (r * (x * x + y * y)));
    rho[i] = r;
    vx[i] = x;
    vy[i] = y;
    p[i] = pressure;
    fraction[i] = tracer[i] * inverse;
    const double c = std::sqrt(gamma * pressure * inverse);
    const double speed = (std::fabs(x) + c) + (std::fabs(y) + c);
    fastest[i] = speed > fastest[i] ? speed : fastest[i];
    // Zero stands for whatever is not a gas; every comparison with a NaN is false.
    const bool is_gas = (r > 0) & (pressure > 0);
    const double counted = is_gas ? pressure : 0.0;
    lowest[i] = counted < lowest[i] ? counted : lowest[i];
  }
}

void PaddedGas::fill_side_ghosts(Wall wall, int j) {
  for (int k = 0; k < kVariables; ++k) {
    const double sign = wall == Wall::kReflecting && k == kVelocityX ? -1.0 : 1.0;
    double* row = cell(k, j, 0);
    for (int depth = 1; depth <= kGhosts; ++depth) {
      row[-depth] = sign * row[source_index(wall, grid_.nx, depth, true)];
      row[grid_.nx - 1 + depth] = sign * row[source_index(wall, grid_.nx, depth, false)];
    }
  }
}

void PaddedGas::fill_ghost_rows(Wall wall) {
  for (int k = 0; k < kVariables; ++k) {
    const double sign = wall == Wall::kReflecting && k == kVelocityY ? -1.0 : 1.0;
    for (int depth = 1; depth <= kGhosts; ++depth) {
      for (const bool low : {true, false}) {
        const double* from = cell(k, source_index(wall, grid_.ny, depth, low), 0);
        double* to = cell(k, low ? -depth : grid_.ny - 1 + depth, 0);
        std::transform(from, from + grid_.nx, to, [sign](double value) { return sign * value; });
      }
    }
  }
}

}  // namespace astroflow
