// From a number to a colour that is as bright as the number is large, also for the colour-blind and
// on a black-and-white printer.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace astroflow {

struct Rgb {
  uint8_t red, green, blue;
  bool operator==(const Rgb&) const = default;
};

class ColourMap {
 public:
  // `low` gets the darkest colour and `high` the brightest; what lies outside gets the nearer one.
  ColourMap(double low, double high);
  Rgb operator()(double value) const;
  // How far `value` lies between low and high, in [0, 1]; 0 for NaN.
  double share(double value) const;

 private:
  double low_, scale_;
};

}  // namespace astroflow
