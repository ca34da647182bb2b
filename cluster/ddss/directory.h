// This node's pool: its directory of descriptors and its heap. The words that others change
// one-sidedly are written here only while their block is nobody's.
#pragma once

#include <mutex>
#include <span>
#include <vector>

#include "ddss/heap.h"
#include "ddss/layout.h"

namespace iw::ddss {

class Directory {
 public:
  explicit Directory(std::span<std::byte> pool);

  // A key for `wanted`, whose home is this node. Data and lock that are to lie here are allocated;
  // if all does, the segment is there, else once it is described. 0 or an error.
  int create(NodeNumber here, Descriptor wanted, Descriptor* made);
  // Says where data and lock lie that were allocated elsewhere.
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
  int take_block(Key key, std::size_t bytes, std::uint64_t* offset);
  bool give_back_blocks(Key key);
  void store_slot(const Descriptor& what, BlockHeader& header, std::span<std::byte> data,
                  std::span<const std::byte> from);
  int take_entry(std::size_t* index);

  std::span<std::byte> pool_;
  std::mutex mutex_;
  Heap heap_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> free_entries_;
  std::multimap<Key, std::uint64_t> blocks_;  // where the blocks of a key lie in this pool
};

// How many bytes of data a segment takes.
std::size_t data_bytes(const Descriptor& descriptor);

}  // namespace iw::ddss
