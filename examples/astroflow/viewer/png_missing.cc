// Replaces png_file.cc on machines without libpng.
#include "viewer/png_file.h"

namespace astroflow {

std::optional<std::string> write_png(const std::string& path, const double* /*field*/,
                                     const Grid& /*grid*/, const ColourMap& /*colours*/) {
  return "cannot write " + path + ": this viewer was built without libpng (Debian: libpng-dev)";
}

}  // namespace astroflow
