// What lies in a node's pool, where others read and change it one-sidedly: a directory of
// descriptors, then blocks, each with a header of a cache line. All words are 8 bytes at multiples
// of 8.
//
// A key is home node (16 bits), index in its directory (16), serial (32, from 1 on); so the key
// alone leads to the descriptor, and the descriptor to data and lock. A key word that is not the
// key says that the segment was released.
#pragma once

#include <cstddef>
#include <cstdint>

namespace iw::ddss {

using Key = std::uint64_t;
using NodeNumber = std::uint16_t;
inline constexpr NodeNumber nodes_max = 0xfff0;  // the rest marks a lock that is being recovered
inline constexpr std::size_t directory_size = 1 << 16;

inline Key key_of(NodeNumber home, std::size_t index, std::uint32_t serial) {
  return Key{home} << 48 | Key{index} << 32 | serial;
}
inline NodeNumber home_of(Key key) { return static_cast<NodeNumber>(key >> 48); }
inline std::size_t index_of(Key key) { return key >> 32 & 0xffff; }

struct Descriptor {
  Key key = 0;  // 0: free
  std::uint64_t size = 0;
  std::uint64_t data_offset = 0;  // of the block's header
  std::uint64_t lock_offset = 0;  // of the header whose lock words are used
  NodeNumber data_node = 0;
  NodeNumber lock_node = 0;
  std::uint32_t model = 0;
  std::uint32_t keep = 0;         // DDSS_DELTA: old versions
  std::uint32_t temporal_ms = 0;  // DDSS_TEMPORAL
  std::uint64_t is_named = 0;
  std::uint64_t unused = 0;
};
static_assert(sizeof(Descriptor) == 64);

// The lock's words; see lock_words.h.
struct LockWords {
  std::uint64_t queue = 0;
  std::uint64_t turn = 0;
  std::uint64_t sharers_gone = 0;
  std::uint64_t deaths_known = 0;
};

struct BlockHeader {
  Key key = 0;  // the first word, and version the second
  // Counts puts, from version_base(key) on. DDSS_VERSION: that are done. DDSS_DELTA: that began. 0
  // while the block is nobody's.
  std::uint64_t version = 0;
  std::uint64_t started = 0;  // DDSS_VERSION: counts puts that began, from the same on
  LockWords lock;
  std::uint64_t unused = 0;
};
static_assert(sizeof(BlockHeader) == 64 && offsetof(BlockHeader, version) == sizeof(Key));

// Different for all keys, as good as certainly, and far apart: so a version alone says that the
// block is still the segment's.
inline constexpr std::uint64_t version_base(Key key) {
  std::uint64_t mixed = (key ^ key >> 32) * 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u;
  return mixed ^ mixed >> 32;
}

inline constexpr std::size_t heap_begin = directory_size * sizeof(Descriptor);
inline constexpr std::size_t descriptor_offset(Key key) {
  return (key >> 32 & 0xffff) * sizeof(Descriptor);
}

// Under DDSS_DELTA the data are slots, as many as versions can be got and one to write.
struct SlotHeader {
  std::uint64_t version = 0;  // 0: being written
  std::uint64_t nbytes = 0;
};
inline std::size_t slot_bytes(std::size_t size) { return sizeof(SlotHeader) + (size + 7) / 8 * 8; }
inline std::size_t slots_of(const Descriptor& descriptor) {
  return std::size_t{descriptor.keep} + 2;
}

}  // namespace iw::ddss
