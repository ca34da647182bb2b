// The tree of ranks by which barriers gather [DSM-BARRIER-5]: rank 0 is the root, and each inner
// rank has at most `fan_in` children. Values.
#pragma once

#include <algorithm>
#include <cstddef>

#include "dsm/protocol/time.h"

namespace iw::dsm {

// From so many ranks on, the usual tree has inner ranks besides rank 0.
inline constexpr Rank tree_ranks_least = 16;
inline constexpr Rank tree_fan_in_usual = 4;

struct BarrierTree {
  Rank ranks = 1;
  Rank fan_in = 1;

  // `fan_in` 0: as usual.
  static BarrierTree of(Rank ranks, Rank fan_in = 0) {
    const Rank linear = std::max<Rank>(1, static_cast<Rank>(ranks - 1));
    if (fan_in != 0) return {ranks, std::min(fan_in, linear)};
    return {ranks, ranks < tree_ranks_least ? linear : tree_fan_in_usual};
  }

  // REQUIRES: not rank 0.
  Rank parent(Rank rank) const { return static_cast<Rank>((rank - 1) / fan_in); }
  bool is_child(Rank rank, Rank of) const { return rank != 0 && parent(rank) == of; }
  std::size_t first_child(Rank rank) const { return std::size_t{rank} * fan_in + 1; }
  std::size_t children(Rank rank) const {
    const std::size_t first = first_child(rank);
    return first >= ranks ? 0 : std::min<std::size_t>(fan_in, ranks - first);
  }
};

}  // namespace iw::dsm
