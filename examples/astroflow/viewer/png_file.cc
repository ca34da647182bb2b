#include "viewer/png_file.h"

#include <png.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

namespace astroflow {
namespace {

std::vector<uint8_t> pixels_of(const double* field, const Grid& grid, const ColourMap& colours) {
  std::vector<uint8_t> pixels;
  pixels.reserve(3 * grid.cells());
  for (int j = grid.ny - 1; j >= 0; --j) {
    for (int i = 0; i < grid.nx; ++i) {
      const Rgb c = colours(field[static_cast<size_t>(j) * grid.nx + i]);
      pixels.insert(pixels.end(), {c.red, c.green, c.blue});
    }
  }
  return pixels;
}

}  // namespace

std::optional<std::string> write_png(const std::string& path, const double* field, const Grid& grid,
                                     const ColourMap& colours) {
  const std::vector<uint8_t> pixels = pixels_of(field, grid, colours);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(grid.nx);
  image.height = static_cast<png_uint_32>(grid.ny);
  image.format = PNG_FORMAT_RGB;
  const std::string part = path + ".part";
  if (png_image_write_to_file(&image, part.c_str(), 0, pixels.data(), 0, nullptr) == 0) {
    const std::string why = part + ": " + image.message;
    std::remove(part.c_str());
    return why;
  }
  if (std::rename(part.c_str(), path.c_str()) != 0) return path + ": " + std::strerror(errno);
  return std::nullopt;
}

}  // namespace astroflow
