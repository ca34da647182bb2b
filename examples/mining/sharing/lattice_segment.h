// Where the lattice is in a segment.
#pragma once

#include <interweave.hpp>

#include "lattice.hpp"

namespace mining {

inline constexpr char kLatticeName[] = "lattice";  // the block's

// Null if there is none. Under a lock of the segment.
inline lattice_t* find_lattice(const iw::Segment& segment) {
  auto* const found = segment.find<lattice_t>(kLatticeName);
  if (found == nullptr) return nullptr;
  IW_block_t block{};
  block.size = sizeof block;
  if (IW_describe_block(segment.handle(), found, &block) != 0) throw iw::Error::last();
  return block.type == IW_lattice_t && block.is_reserved == 0 ? found : nullptr;
}

}  // namespace mining
