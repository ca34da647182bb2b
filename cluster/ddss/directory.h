// This node's pool: its directory of descriptors and its heap. The words that others change
// one-sidedly are written here only while their block is nobody's.
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

  // A key for `wanted`, whose home is this node. Data and lock that are to lie here are allocated;
  // if all does, the segment is there, else once it is described. 0 or an error.
  int create(NodeNumber here, Descriptor wanted, Descriptor* made);
  // Says where data and lock lie that were allocated elsewhere. DDSS_EARGUMENT: it says anything
  // else, or a place where no block begins.
  int describe(const Descriptor& made);
  // A block for a segment whose home is elsewhere.
  int reserve(Key key, std::size_t bytes, std::uint64_t* offset);
  // Of what was created here: *released says what it was. Of what was reserved here: every block.
  int release(Key key, Descriptor* released);
  // A put to a block that lies here, for one who cannot reach it one-sidedly: checked and counted
  // as others do it with several operations.
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
  // Where the blocks of a key lie in this pool.
  std::multimap<Key, std::uint64_t> blocks_ IW_GUARDED_BY(mutex_);
};

// How many bytes of data a segment takes.
std::size_t data_bytes(const Descriptor& descriptor);

}  // namespace iw::ddss
