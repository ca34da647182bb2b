// How far a computed density is from the exact solution of a shock tube along x.
#pragma once

#include "exact/riemann.h"

namespace astroflow {

// The mean of |density - exact| over nx x ny cells (row-major, x fastest), the exact solution taken
// at the centres of cells of size 1/nx. Nothing if the tube has no exact solution.
std::optional<double> mean_density_error(const ShockTube& tube, const double* density, int nx,
                                         int ny, double time);

}  // namespace astroflow
