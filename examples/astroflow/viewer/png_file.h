// One frame as a PNG file, one pixel per cell.
#pragma once

#include <optional>
#include <string>

#include "solver/flow_arrays.h"
#include "viewer/colour_map.h"

namespace astroflow {

// Writes beside `path` first and renames: nobody sees half a picture. Returns what went wrong.
std::optional<std::string> write_png(const std::string& path, const double* field, const Grid& grid,
                                     const ColourMap& colours);

}  // namespace astroflow
