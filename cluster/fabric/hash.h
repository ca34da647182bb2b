// FNV-1a of bytes: names what it is given, keeps nobody from forging it.
#pragma once

#include <cstdint>

#include "fabric/fabric.h"

namespace iw::fabric {

inline std::uint64_t hash(Bytes bytes) {
  std::uint64_t value = 14695981039346656037ull;
  for (const std::byte each : bytes) {
    value = (value ^ std::to_integer<std::uint64_t>(each)) * 1099511628211ull;
  }
  return value;
}

}  // namespace iw::fabric
