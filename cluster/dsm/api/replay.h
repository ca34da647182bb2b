// The calls before the first barrier, which all ranks make alike: their hash, and the homes that
// the program chose. Pure. Implements the hash of [DSM-START-2] of spec/cluster/dsm.x.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dsm/node/node.h"
#include "dsm/protocol/time.h"

namespace iw::dsm {

class Replay {
 public:
  enum class Call : std::uint8_t { allocate, free, home, add, post, barrier };
  // All that the ranks must agree on.
  void note(Call call, std::uint64_t first, std::uint64_t second = 0) {
    for (const std::uint64_t each : {static_cast<std::uint64_t>(call), first, second}) {
      hash_ = (hash_ ^ each) * 0x9e3779b97f4a7c15;
      hash_ ^= hash_ >> 29;
    }
  }
  std::uint64_t hash() const { return hash_; }

  // These pages have no chosen home.
  void leave_to_first_touch(PageNumber first, std::size_t count, Rank ranks);
  // The pages are cut into pieces of equal size, one for each rank in turn.
  void place_blocks(PageNumber first, std::size_t count, Rank ranks);
  // The first page is at rank 0.
  void place_round_robin(PageNumber first, std::size_t count);
  void place_at(PageNumber first, std::size_t count, Rank home);
  // A later one counts before an earlier one.
  std::span<const Placement> homes() const { return homes_; }

 private:
  std::uint64_t hash_ = 1;
  std::vector<Placement> homes_;
};

}  // namespace iw::dsm
