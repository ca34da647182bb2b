// A checksum of all six arrays, the same on every machine: it tells whether two processes hold the
// same bits.
#pragma once

#include <string>

#include "solver/flow_arrays.h"

namespace astroflow {

// Sixteen hexadecimal digits.
std::string checksum_text(const Grid& grid, const FlowArrays& arrays);

}  // namespace astroflow
