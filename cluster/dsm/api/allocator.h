// Blocks of the heap, for one rank: dsm_malloc and dsm_free. Pure: addresses are numbers, and the
// only bytes of the heap that it touches are the 16 bytes in front of each block, through
// BlockHeaders. Implements [DSM-BLOCK-1].
//
// In the replay all ranks make the same calls and so get the same addresses. Afterwards each rank
// takes from a share of the rest of its own, without a message. A freed block goes to the rank that
// frees it, whoever allocated the block: the header says its size, and is coherent as all of the
// heap is. The list of free extents stands outside the heap, in this
// rank's own memory.
//
// Invariants: free extents do not touch each other, and belong to one rank. A header is sealed with
// its address, its size and whether the block is free, so that neither a foreign address nor a
// block that is free already is taken for a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "dsm/protocol/time.h"

namespace iw::dsm {

using HeapAddress = std::uint64_t;

struct BlockHeader {
  std::uint64_t bytes = 0;  // of the block, without the header
  std::uint64_t seal = 0;
};
inline constexpr std::uint64_t header_bytes = sizeof(BlockHeader);
inline constexpr std::uint64_t block_alignment = 16;

// The headers, which lie in the heap.
class BlockHeaders {
 public:
  virtual ~BlockHeaders() = default;
  virtual BlockHeader load(HeapAddress at) = 0;
  virtual void store(HeapAddress at, const BlockHeader& header) = 0;
};

class Allocator {
 public:
  // The heap is [begin, end), whole pages.
  Allocator(HeapAddress begin, HeapAddress end, std::uint64_t page_bytes, BlockHeaders& headers);

  // Returns nothing if the heap has no room. A block is aligned to 16 bytes. A block of a page or
  // more is aligned to a page.
  std::optional<HeapAddress> allocate(std::uint64_t bytes);

  enum class Freed : std::uint8_t { freed, foreign, free_already };
  Freed free(HeapAddress block);

  // The end of the pages that any block has reached, in the replay.
  HeapAddress reached_end() const;
  // The replay is over. Blocks that were freed in it are rank 0's from now on.
  void end_replay(Rank me, Rank ranks);

  // Of what is free for this rank.
  std::uint64_t free_bytes() const { return free_bytes_; }

 private:
  struct Place {
    HeapAddress extent;
    HeapAddress block;
  };
  std::optional<Place> find(std::uint64_t bytes, std::uint64_t alignment) const;
  void add_extent(HeapAddress begin, HeapAddress end);
  void remove_extent(std::map<HeapAddress, HeapAddress>::iterator extent);

  const HeapAddress begin_;
  const HeapAddress end_;
  const std::uint64_t page_bytes_;
  BlockHeaders& headers_;
  HeapAddress reached_;
  std::uint64_t free_bytes_ = 0;
  std::map<HeapAddress, HeapAddress> extents_;  // begin -> end
  std::set<std::pair<std::uint64_t, HeapAddress>> by_size_;
};

}  // namespace iw::dsm
