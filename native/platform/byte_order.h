// Little-endian loads and stores, and byte swaps of whole arrays (vectorised where the CPU can).
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace iw::platform {

inline constexpr bool is_little_endian = std::endian::native == std::endian::little;

constexpr std::uint8_t byte_swapped(std::uint8_t value) { return value; }
constexpr std::uint16_t byte_swapped(std::uint16_t value) {
  return static_cast<std::uint16_t>((value << 8) | (value >> 8));
}
constexpr std::uint32_t byte_swapped(std::uint32_t value) { return __builtin_bswap32(value); }
constexpr std::uint64_t byte_swapped(std::uint64_t value) { return __builtin_bswap64(value); }

// Any alignment.
template <std::unsigned_integral T>
T load_little_endian(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return is_little_endian ? value : byte_swapped(value);
}

template <std::unsigned_integral T>
void store_little_endian(void* to, T value) {
  if (!is_little_endian) value = byte_swapped(value);
  std::memcpy(to, &value, sizeof value);
}

// Copies `count` elements of 2, 4 or 8 bytes, reversing the bytes of each. Any alignment; `to` and
// `from` are the same memory or do not overlap.
void copy_swapped_16(void* to, const void* from, std::size_t count);
void copy_swapped_32(void* to, const void* from, std::size_t count);
void copy_swapped_64(void* to, const void* from, std::size_t count);

// Copies `count` elements of element_bytes (1, 2, 4 or 8) between native and little-endian order
// (the same operation both ways): a memcpy on little-endian machines.
void copy_little_endian(void* to, const void* from, std::size_t element_bytes, std::size_t count);

}  // namespace iw::platform
