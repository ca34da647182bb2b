#include "viewer/picture.h"

#include <algorithm>

namespace astroflow {
namespace {

struct Range {
  int begin, end;
};

// The cells of `cells` that element `index` of `elements` covers; at least one.
Range covered(int index, int elements, int cells) {
  const int begin = static_cast<int>(static_cast<long>(index) * cells / elements);
  const int end = static_cast<int>(static_cast<long>(index + 1) * cells / elements);
  return {begin, std::max(begin + 1, end)};
}

double mean(const double* field, const Grid& grid, Range rows, Range columns) {
  double sum = 0;
  for (int j = rows.begin; j < rows.end; ++j) {
    for (int i = columns.begin; i < columns.end; ++i) {
      sum += field[static_cast<size_t>(j) * grid.nx + i];
    }
  }
  return sum / ((rows.end - rows.begin) * (columns.end - columns.begin));
}

}  // namespace

Picture scaled(const double* field, const Grid& grid, int width, int height) {
  Picture picture{width, height, {}};
  picture.values.reserve(static_cast<size_t>(width) * height);
  for (int row = 0; row < height; ++row) {
    const Range cells = covered(height - 1 - row, height, grid.ny);
    for (int column = 0; column < width; ++column) {
      picture.values.push_back(mean(field, grid, cells, covered(column, width, grid.nx)));
    }
  }
  return picture;
}

PictureSize fitting(const Grid& grid, int max_width, int max_height) {
  max_width = std::max(1, max_width);
  max_height = std::max(1, max_height);
  const long by_width = static_cast<long>(max_width) * grid.ny / grid.nx;
  if (by_width <= max_height) return {max_width, std::max(1, static_cast<int>(by_width))};
  const long by_height = static_cast<long>(max_height) * grid.nx / grid.ny;
  return {std::max(1, static_cast<int>(by_height)), max_height};
}

}  // namespace astroflow
