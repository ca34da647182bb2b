// A pointer in wire format [WIRE-5]: slot:u16 serial:u48 offset:u64, little-endian; all zeros is
// NULL; slot 0 is the segment itself.
#pragma once

#include <cstddef>
#include <cstdint>

namespace iw::swizzle {

inline constexpr std::size_t kWirePointerBytes = 16;

struct WirePointer {
  std::uint16_t slot = 0;
  std::uint64_t serial = 0;  // 48 bits
  std::uint64_t unit = 0;    // of the block; its unit count is one past its end

  [[nodiscard]] bool is_null() const { return slot == 0 && serial == 0 && unit == 0; }
  friend bool operator==(const WirePointer&, const WirePointer&) = default;
};

inline WirePointer load_wire_pointer(const std::byte* from) {
  const auto number = [from](std::size_t at, std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      value |= std::to_integer<std::uint64_t>(from[at + i]) << (8 * i);
    }
    return value;
  };
  return {static_cast<std::uint16_t>(number(0, 2)), number(2, 6), number(8, 8)};
}

inline void store_wire_pointer(const WirePointer& pointer, std::byte* to) {
  const auto number = [to](std::size_t at, std::size_t bytes, std::uint64_t value) {
    for (std::size_t i = 0; i < bytes; ++i) {
      to[at + i] = static_cast<std::byte>((value >> (8 * i)) & 0xFF);
    }
  };
  number(0, 2, pointer.slot);
  number(2, 6, pointer.serial);
  number(8, 8, pointer.unit);
}

}  // namespace iw::swizzle
