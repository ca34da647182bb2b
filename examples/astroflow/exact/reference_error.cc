#include "exact/reference_error.h"

#include <cmath>

namespace astroflow {

std::optional<double> mean_density_error(const ShockTube& tube, const double* density, int nx,
                                         int ny, double time) {
  const auto exact = ExactRiemann::solve(tube);
  if (!exact || nx <= 0 || ny <= 0) return std::nullopt;
  double sum = 0;
  for (int i = 0; i < nx; ++i) {
    const double expected = exact->at((i + 0.5) / nx, time).density;
    for (int j = 0; j < ny; ++j) {
      sum += std::abs(density[static_cast<long>(j) * nx + i] - expected);
    }
  }
  return sum / (static_cast<double>(nx) * ny);
}

}  // namespace astroflow
