// The free extents of one heap, in bins by size. Finding an extent, splitting it and joining it
// with its neighbours take a few steps. Sizes are multiples of 16 bytes. An allocation takes the
// beginning of the smallest extent that fits well. Consecutive allocations therefore lie one after
// another where nothing was freed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "memory/block_index.h"

namespace iw::memory {

class FreeExtents {
 public:
  explicit FreeExtents(BlockIndex& index) : index_(index) { first_.fill(no_record); }

  void add(RecordId id);
  void remove(RecordId id);
  // A free extent of at least that size, still in its bin; no_record if there is not one.
  [[nodiscard]] RecordId find(std::size_t size_bytes) const;

 private:
  static constexpr std::size_t bin_count = 256;

  static std::size_t bin_of(std::size_t size_bytes);

  BlockIndex& index_;
  std::array<RecordId, bin_count> first_{};
  std::array<std::uint64_t, bin_count / 64> filled_{};
};

}  // namespace iw::memory
