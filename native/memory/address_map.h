// The process-wide map from addresses to blocks of all segments. It is the global subsegment tree
// of ICDCS'03 3.1 as a flat table by address, because one page belongs to one segment.
//
// Any thread may look up at any time, whatever the segment's own thread does. The answer is a copy.
// A block that is freed at the same time may be found or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "memory/block.h"
#include "memory/trail.h"
#include "types/mip.h"

namespace iw::memory {

struct FoundBlock {
  std::uint64_t heap_number = 0;  // of the segment's heap; never used again
  Block block;
  std::size_t offset_bytes = 0;  // in the block; its size for one past its end
};

// Returns false if the address is not in a block of this process: null, the stack, free or
// inaccessible space, a freed block, or memory of the parent of this forked process.
bool find_block(const void* address, FoundBlock& out);

// Looks up a row of addresses, with one answer each. A block's serial is 0 if it was not found.
void find_blocks(std::span<const void* const> addresses, Trail& trail, FoundBlock* out);

// For fault handlers: async-signal-safe. Also false while the segment's indexes are changing.
bool try_find_block(const void* address, FoundBlock& out) noexcept;

// The segment that the address lies in, whether in a block or not.
bool find_segment(const void* address, types::Url& out);

}  // namespace iw::memory
