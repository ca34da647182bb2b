// Rows of short values between two layouts, with vector instructions.
//
// A function handles values from the first on and returns how many it handled. The caller handles
// the rest: the last few, the first value that the function refuses, or all of them where the
// processor has no such instructions. No function reads or writes beyond the row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace iw::platform {

// A value of from_bytes becomes one of to_bytes, at most kMostBytes each. Byte i of the new value
// is byte take[i] of the old one, or zero.
struct ByteMap {
  static constexpr std::size_t kMostBytes = 16;
  static constexpr std::uint8_t kZero = 0x80;

  std::size_t from_bytes = 0;
  std::size_t to_bytes = 0;
  std::array<std::uint8_t, kMostBytes> take{};
};

// Values side by side on both sides, which do not overlap.
std::size_t map_rows(const ByteMap& map, const std::byte* from, std::byte* to, std::size_t count);

// Strings char[4] to three bytes each, with zeros behind the first NUL. Refuses a string without
// NUL.
std::size_t pack_strings_of_3(const std::byte* from, std::byte* to, std::size_t count);
// Refuses a string that has bytes behind its NUL.
std::size_t check_strings_of_3(const std::byte* from, std::size_t count);

// Places in memory, at distances of 1 << shift. A place is known by its address; elsewhere by two
// little-endian words: the tag, and `first` for the first place, `step` more for each further one.
struct Places {
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 31;

  std::uint64_t begin = 0;
  std::uint64_t count = 0;  // from 1 to kMost
  unsigned shift = 0;
  std::uint64_t tag = 0;
  std::uint64_t first = 0;
  std::uint64_t step = 1;  // at most kMost
};

// Refuses an address that is not of a place.
std::size_t addresses_to_words(const Places& places, const std::byte* from, std::byte* to,
                               std::size_t count);
// REQUIRES: a step of 1. Refuses words that are not of a place.
std::size_t words_to_addresses(const Places& places, const std::byte* from, std::byte* to,
                               std::size_t count);
// Refuses words with another tag.
std::size_t count_tagged(std::uint64_t tag, const std::byte* from, std::size_t count);

// Copies a string up to its NUL and returns its length, or `most` without a NUL among so many
// bytes. May write up to `most` bytes.
std::size_t copy_string(std::byte* to, const std::byte* from, std::size_t most);

}  // namespace iw::platform
