// The head of a run in CHANGES: how many units of its block did not change, and how many behind
// these did and follow. Collecting, checking and placing have the form of a head from here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "diff/varint.h"

namespace iw::diff {

struct RunHead {
  static constexpr std::size_t kMostBytes = 2 * kMaxVarintBytes;

  std::uint64_t gap = 0;
  std::uint64_t count = 0;

  // Returns where the head's bytes end, at most kMostBytes behind `to`.
  std::byte* write(std::byte* to) const {
    to += put_varint(gap, to);
    return to + put_varint(count, to);
  }

  [[nodiscard, gnu::always_inline]] bool read(Reader& from) {
    return from.varint(gap) && from.varint(count);
  }

  // `left`: units of the block behind the run before.
  [[nodiscard]] bool is_within(std::uint64_t left) const {
    return count != 0 && gap <= left && count <= left - gap;
  }
};

}  // namespace iw::diff
