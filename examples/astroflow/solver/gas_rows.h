// Rows of primitive variables, the unit the row kernels (reconstruct.h, hllc.h) work on. The
// kernels know a normal and a tangential velocity, not x and y: the same code runs along both axes,
// which is what makes a mirror-symmetric flow stay symmetric to the last bit.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace astroflow {

inline constexpr int kVariables = 5;

// In a row of primitives: density, normal velocity, tangential velocity, pressure, tracer fraction.
// In a row of fluxes: mass, normal momentum, tangential momentum, energy, tracer mass.
using Row = std::array<double*, kVariables>;
using ConstRow = std::array<const double*, kVariables>;

// A row that owns its numbers.
class RowBuffer {
 public:
  explicit RowBuffer(size_t length) : storage_(kVariables * length) {
    for (int k = 0; k < kVariables; ++k) row_[k] = storage_.data() + k * length;
  }
  RowBuffer(RowBuffer&&) = default;  // no copies: row_ points into storage_
  RowBuffer& operator=(RowBuffer&&) = default;

  const Row& row() const { return row_; }
  ConstRow from(ptrdiff_t offset) const {
    ConstRow shifted;
    for (int k = 0; k < kVariables; ++k) shifted[k] = row_[k] + offset;
    return shifted;
  }

 private:
  std::vector<double> storage_;
  Row row_;
};

}  // namespace astroflow
