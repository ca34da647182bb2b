// Second-order reconstruction: from three neighbouring cell values to the values at the two faces
// of the middle one, with a slope that creates no new extrema (monotonised central limiter).
#pragma once

#include <cmath>

namespace astroflow {

// For each cell i of a row: low_face[i] and high_face[i] from before[i], cell[i] and after[i].
// Every face value lies between the cell's and a neighbour's, so positive stays positive.
inline void reconstruct_row(int n, const double* before, const double* cell, const double* after,
                            double* __restrict low_face, double* __restrict high_face) {
  for (int i = 0; i < n; ++i) {
    const double a = cell[i] - before[i];
    const double b = after[i] - cell[i];
    const double twice_a = 2 * std::fabs(a);
    const double twice_b = 2 * std::fabs(b);
    const double central = 0.5 * std::fabs(a + b);
    double size = twice_a < twice_b ? twice_a : twice_b;
    size = size < central ? size : central;
    const double half_slope = a * b > 0 ? std::copysign(0.5 * size, a) : 0.0;
    low_face[i] = cell[i] - half_slope;
    high_face[i] = cell[i] + half_slope;
  }
}

}  // namespace astroflow
