// What the codecs generated from spec/cluster lean on: structs that are read where they lie, and
// are taken only as [FAB-1] says.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace iw::fabric {

static_assert(std::endian::native == std::endian::little,
              "a cluster's machines are little-endian: its messages are read where they lie");

// A struct that a codec made; `check` says whether its numbers may be.
template <typename T>
concept Fixed = std::is_trivially_copyable_v<T> && requires(const T& value) {
  { check(value) } -> std::same_as<bool>;
};

template <Fixed T>
[[nodiscard]] std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

// All of the bytes are one struct.
template <Fixed T>
[[nodiscard]] bool read_whole(std::span<const std::byte> bytes, T* value) {
  if (bytes.size() != sizeof *value) return false;
  std::memcpy(value, bytes.data(), sizeof *value);
  return check(*value);
}

// The bytes begin with one.
template <Fixed T>
[[nodiscard]] bool read_first(std::span<const std::byte> bytes, T* value,
                              std::span<const std::byte>* rest) {
  if (bytes.size() < sizeof *value) return false;
  *rest = bytes.subspan(sizeof *value);
  return read_whole(bytes.first(sizeof *value), value);
}

inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace iw::fabric
