// The checksum of a part [CONT-10]. spec/cluster/containers.x has the messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "containers/containers.gen.h"

namespace iw::containers {

inline std::uint32_t checksum_of(int kind, std::uint32_t signature, std::uint32_t part,
                                 std::span<const std::byte> block) {
  std::uint32_t value = 2166136261u;  // FNV-1a
  for (const std::uint32_t word : {static_cast<std::uint32_t>(kind), signature, part}) {
    value = (value ^ word) * 16777619u;
  }
  for (const std::byte each : block) value = (value ^ static_cast<std::uint8_t>(each)) * 16777619u;
  return value;
}

}  // namespace iw::containers
