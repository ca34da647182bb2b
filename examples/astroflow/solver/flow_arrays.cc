#include "solver/flow_arrays.h"

#include <algorithm>

namespace astroflow {

FlowState::FlowState(Grid grid) : grid_(grid), storage_(kArrays * grid.cells()) {
  double* next = storage_.data();
  for (double** array : {&arrays_.density, &arrays_.momentum_x, &arrays_.momentum_y,
                         &arrays_.energy, &arrays_.pressure, &arrays_.tracer}) {
    *array = next;
    next += grid.cells();
  }
}

void copy_arrays(const Grid& grid, const FlowArrays& from, const FlowArrays& to) {
  std::copy_n(from.density, grid.cells(), to.density);
  std::copy_n(from.momentum_x, grid.cells(), to.momentum_x);
  std::copy_n(from.momentum_y, grid.cells(), to.momentum_y);
  std::copy_n(from.energy, grid.cells(), to.energy);
  std::copy_n(from.pressure, grid.cells(), to.pressure);
  std::copy_n(from.tracer, grid.cells(), to.tracer);
}

double total(const Grid& grid, const double* array) {
  double sum = 0;
  for (int j = 0; j < grid.ny; ++j) {
    double row = 0;
    for (int i = 0; i < grid.nx; ++i) row += array[static_cast<size_t>(j) * grid.nx + i];
    sum += row;
  }
  return sum * grid.cell_size() * grid.cell_size();
}

}  // namespace astroflow
