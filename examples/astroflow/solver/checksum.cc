// FNV-1a over the 64-bit patterns of the numbers, so that byte order does not matter.
#include "solver/checksum.h"

#include <array>
#include <bit>
#include <cinttypes>
#include <cstdio>

namespace astroflow {

std::string checksum_text(const Grid& grid, const FlowArrays& arrays) {
  uint64_t sum = 0xcbf29ce484222325;
  for (const double* array : {arrays.density, arrays.momentum_x, arrays.momentum_y, arrays.energy,
                              arrays.pressure, arrays.tracer}) {
    for (size_t i = 0; i < grid.cells(); ++i) {
      sum = (sum ^ std::bit_cast<uint64_t>(array[i])) * 0x100000001b3;
    }
  }
  std::array<char, 17> digits;
  std::snprintf(digits.data(), digits.size(), "%016" PRIx64, sum);
  return digits.data();
}

}  // namespace astroflow
