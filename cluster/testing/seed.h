// What is random in a test: IW_SEED repeats a run, whose seed was printed.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <random>

namespace iw::testing {

inline std::mt19937 seeded_random() {
  const char* given = std::getenv("IW_SEED");
  const unsigned seed =
      given != nullptr ? static_cast<unsigned>(std::atol(given)) : std::random_device{}();
  std::printf("IW_SEED=%u\n", seed);
  std::fflush(stdout);
  return std::mt19937(seed);
}

}  // namespace iw::testing
