// A field scaled to the number of picture elements there is room for.
#pragma once

#include <vector>

#include "solver/flow_arrays.h"

namespace astroflow {

// Row-major, the top row first (a field's row 0 is the bottom one).
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<double> values;
  double at(int column, int row) const { return values[static_cast<size_t>(row) * width + column]; }
};

// Each picture element is the mean of the cells it covers, or the nearest cell if the picture is
// finer than the grid.
Picture scaled(const double* field, const Grid& grid, int width, int height);

// The largest picture of the grid's shape with square elements that fits.
struct PictureSize {
  int width, height;
};
PictureSize fitting(const Grid& grid, int max_width, int max_height);

}  // namespace astroflow
