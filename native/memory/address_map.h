// The process-wide map from addresses to blocks of whichever segment they lie in (ICDCS'03 3.1's
// global subsegment tree, flattened: a table by address, since one page belongs to one segment).
//
// Any thread may look up at any time, whatever the segment's own thread does meanwhile: the answer
// is a copy. A block that is freed at the same time may be found or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "memory/block.h"
#include "memory/trail.h"
#include "types/mip.h"

namespace iw::memory {

struct FoundBlock {
  std::uint64_t heap_number = 0;  // of the segment's cached copy; no other heap ever has it
  Block block;
  std::size_t offset_bytes = 0;  // in the block; its size for one past its end
};

// False: the address is in no block of this process (null, the stack, free or inaccessible space,
// a block that was freed, memory of the parent of this forked process).
bool find_block(const void* address, FoundBlock& out);

// A row of addresses, as many answers as addresses; a block's serial is 0 if there is none.
void find_blocks(std::span<const void* const> addresses, Trail& trail, FoundBlock* out);

// For fault handlers: async-signal-safe; false also when the segment's indexes are just changing.
bool try_find_block(const void* address, FoundBlock& out) noexcept;

// The segment that the address lies in, whether in a block or not.
bool find_segment(const void* address, types::Url& out);

}  // namespace iw::memory
