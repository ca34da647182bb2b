// This node's pool: its directory of descriptors and its heap. Other nodes change words of a block
// one-sidedly; this node writes those words only while no segment has the block.
#pragma once

#include <span>
#include <vector>

#include "ddss/heap.h"
#include "ddss/layout.h"
#include "platform/mutex.h"

namespace iw::ddss {

class Directory {
 public:
  explicit Directory(std::span<std::byte> pool);

  // Makes a key for `wanted`, whose home is this node, and allocates what is to lie here. If data
  // and lock both lie here, the segment exists afterwards, else after describe() [DDSS-KEY-4].
  // Returns 0 or an error, as the other calls do.
  int create(NodeNumber here, Descriptor wanted, Descriptor* made);
  // Says where the data and lock lie that other nodes reserved, and publishes the key. Returns
  // DDSS_EARGUMENT if `made` says anything else, or a place where no block begins.
  int describe(const Descriptor& made);
  // Allocates a block for a segment whose home is another node.
  int reserve(Key key, std::size_t bytes, std::uint64_t* offset);
  // Frees all blocks of the key. If the segment was created here, *released is its descriptor.
  int release(Key key, Descriptor* released);
  // Puts to a block that lies here, for a node that cannot do so one-sidedly. Checks and counts as
  // a one-sided put does with several operations.
  int store(const Descriptor& what, std::uint64_t offset, std::span<const std::byte> from);

 private:
  struct Entry {
    std::uint32_t serial = 0;
    bool is_taken = false;
  };
  Descriptor& at(std::size_t index) const;
  BlockHeader& header_at(std::uint64_t offset) const;
  int take_block(Key key, std::size_t bytes, std::uint64_t* offset) IW_REQUIRES(mutex_);
  bool give_back_blocks(Key key) IW_REQUIRES(mutex_);
  void store_slot(const Descriptor& what, BlockHeader& header, std::span<std::byte> data,
                  std::span<const std::byte> from) IW_REQUIRES(mutex_);
  int take_entry(std::size_t* index) IW_REQUIRES(mutex_);

  std::span<std::byte> pool_;
  platform::Mutex mutex_;
  Heap heap_ IW_GUARDED_BY(mutex_);
  std::vector<Entry> entries_ IW_GUARDED_BY(mutex_);
  std::vector<std::size_t> free_entries_ IW_GUARDED_BY(mutex_);
  // The offsets of a key's blocks in this pool.
  std::multimap<Key, std::uint64_t> blocks_ IW_GUARDED_BY(mutex_);
};

// The bytes of data that a segment needs.
std::size_t data_bytes(const Descriptor& descriptor);

}  // namespace iw::ddss
