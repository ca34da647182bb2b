// Where the lattice is in a segment.
#pragma once

#include <interweave.hpp>

#include "lattice.hpp"

namespace mining {

inline constexpr char kLatticeName[] = "lattice";  // the block's

// Of the block that `p` points into. Under a lock of the segment.
inline IW_block_t description_of(const iw::Segment& segment, const void* p) {
  IW_block_t block{};
  block.size = sizeof block;
  if (IW_describe_block(segment.handle(), p, &block) != 0) throw iw::Error::last();
  return block;
}

// Null if it does not exist, or its name is a block of another type. REQUIRES: a lock is held.
inline lattice_t* find_lattice(const iw::Segment& segment) {
  try {
    auto* const found = segment.find<lattice_t>(kLatticeName);
    if (found == nullptr) return nullptr;
    return description_of(segment, found).is_reserved == 0 ? found : nullptr;
  } catch (const iw::Error& error) {
    if (error.code() == IW_ETYPE_CONFLICT) return nullptr;
    throw;
  }
}

}  // namespace mining
