// Random numbers of the distributions that Quest's data are made of. Written out, since those of
// the standard library differ from one to the next: a seed gives the same database everywhere.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace mining {

class Random {
 public:
  explicit Random(std::uint64_t seed) : bits_(seed) {}

  // In [0, 1).
  double uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>(uniform() * static_cast<double>(bound));
  }
  double exponential(double mean) { return -mean * std::log1p(-uniform()); }
  // For small means.
  unsigned poisson(double mean) {
    const double limit = std::exp(-mean);
    unsigned count = 0;
    for (double product = uniform(); product > limit; product *= uniform()) ++count;
    return count;
  }
  double normal(double mean, double deviation) {
    constexpr double kTwoPi = 6.283185307179586;
    const double radius = std::sqrt(exponential(2));
    return mean + deviation * radius * std::cos(kTwoPi * uniform());
  }

 private:
  std::mt19937_64 bits_;
};

}  // namespace mining
