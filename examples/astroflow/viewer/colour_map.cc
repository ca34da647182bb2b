// The table is computed from a polynomial of degree 6 per channel, fitted by least squares to
// eleven evenly spaced colours of the viridis scale; it is off by 4 of 255 at most.
#include "viewer/colour_map.h"

#include <algorithm>
#include <cmath>

namespace astroflow {
namespace {

using Polynomial = std::array<double, 7>;
constexpr Polynomial kRed{68.3, 55.6, -212.3, -917.8, 1367.0, 1248.1, -1356.2};
constexpr Polynomial kGreen{1.0, 362.7, -13.8, -1147.3, 2957.5, -2917.6, 988.6};
constexpr Polynomial kBlue{84.1, 362.2, 4.2, -5027.7, 14948.1, -17352.0, 7018.0};

constexpr uint8_t channel(const Polynomial& polynomial, double t) {
  double value = 0;
  for (size_t i = polynomial.size(); i-- > 0;) value = value * t + polynomial[i];
  return static_cast<uint8_t>(std::clamp(value, 0.0, 255.0) + 0.5);
}

constexpr std::array<Rgb, 256> make_table() {
  std::array<Rgb, 256> table{};
  for (int i = 0; i < 256; ++i) {
    const double t = i / 255.0;
    table[i] = {channel(kRed, t), channel(kGreen, t), channel(kBlue, t)};
  }
  return table;
}

constexpr std::array<Rgb, 256> kTable = make_table();

}  // namespace

ColourMap::ColourMap(double low, double high)
    : low_(low), scale_(high > low ? 1 / (high - low) : 0) {}

double ColourMap::share(double value) const {
  const double t = (value - low_) * scale_;
  return t > 0 ? std::min(t, 1.0) : 0.0;  // NaN compares false
}

Rgb ColourMap::operator()(double value) const {
  return kTable[static_cast<size_t>(std::lround(share(value) * 255))];
}

}  // namespace astroflow
