// The constants of the diff format (spec/format/diff.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace iw::diff {

inline constexpr std::array<std::uint8_t, 4> kMagic = {'I', 'W', 'D', '1'};

inline constexpr std::uint8_t kMetadataOnly = 1;  // flags

enum class Tag : std::uint8_t {
  types = 1,
  slots = 2,
  freed = 3,
  live = 4,
  blocks = 5,
  changes = 6
};

// Strings with a bound up to this one travel as their whole slot [WIRE-2].
inline constexpr std::uint64_t kWholeStringBound = 16;
// Others as their length and as many bytes.
inline constexpr std::size_t kStringLengthBytes = 2;

// How diffs are made and applied; the bytes are the same in any case.
struct Options {
  // Off, for measurements: every block and every pointer is searched for [block prediction,
  // ICDCS'03 3.3].
  bool predicts_blocks = true;
};

// What a diff holds, or held.
struct Statistics {
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;  // in CHANGES
  std::uint64_t runs = 0;
  std::uint64_t units = 0;
  // Blocks, of the diff itself and pointed at, that an index was searched for, once the diff is
  // collected or applied: the others were where they were expected.
  std::uint64_t searches = 0;
};

}  // namespace iw::diff
