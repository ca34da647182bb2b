// The six arrays of a two-dimensional gas: where they are (FlowArrays) and a set of our own
// (FlowState). All are row-major with x fastest, nx * ny cells of size 1/nx.
//
// density, momentum_x, momentum_y, energy and tracer are conserved quantities per unit area and
// are the state; pressure follows from them. The tracer is the density of the marked gas.
#pragma once

#include <cstddef>
#include <vector>

namespace astroflow {

struct Grid {
  int nx = 256;
  int ny = 256;
  size_t cells() const { return static_cast<size_t>(nx) * static_cast<size_t>(ny); }
  double cell_size() const { return 1.0 / nx; }
};

inline constexpr int kArrays = 6;

// Does not own what it points at: the arrays may be a FlowState's or lie in a shared segment.
struct FlowArrays {
  double* density = nullptr;
  double* momentum_x = nullptr;
  double* momentum_y = nullptr;
  double* energy = nullptr;
  double* pressure = nullptr;
  double* tracer = nullptr;
};

class FlowState {
 public:
  explicit FlowState(Grid grid);
  FlowState(FlowState&&) = default;  // no copies: arrays_ points into storage_
  FlowState& operator=(FlowState&&) = default;
  FlowArrays arrays() const { return arrays_; }
  const Grid& grid() const { return grid_; }

 private:
  Grid grid_;
  std::vector<double> storage_;
  FlowArrays arrays_;
};

void copy_arrays(const Grid& grid, const FlowArrays& from, const FlowArrays& to);

// Mass or energy in the whole box. Summed row by row, which keeps the rounding error small.
double total(const Grid& grid, const double* array);

}  // namespace astroflow
