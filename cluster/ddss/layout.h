// The places in a node's pool, which other nodes read and change one-sidedly: a directory of
// descriptors, then blocks, each with a header of one cache line. spec/cluster/ddss.x has the
// structs and the rules ([DDSS-KEY-2]).
#pragma once

#include <cstddef>
#include <cstdint>

#include "ddss/ddss.gen.h"
#include "interweave/ddss.h"

namespace iw::ddss {

static_assert(static_cast<unsigned>(Model::null) == DDSS_NULL &&
              static_cast<unsigned>(Model::read) == DDSS_READ &&
              static_cast<unsigned>(Model::write) == DDSS_WRITE &&
              static_cast<unsigned>(Model::strict) == DDSS_STRICT &&
              static_cast<unsigned>(Model::version) == DDSS_VERSION &&
              static_cast<unsigned>(Model::delta) == DDSS_DELTA &&
              static_cast<unsigned>(Model::temporal) == DDSS_TEMPORAL);
static_assert(sizeof(BlockHeader) == 64 && offsetof(BlockHeader, version) == sizeof(Key));

inline Key key_of(NodeNumber home, std::size_t index, std::uint32_t serial) {
  return Key{home} << 48 | Key{index} << 32 | serial;
}
inline NodeNumber home_of(Key key) { return static_cast<NodeNumber>(key >> 48); }
inline std::size_t index_of(Key key) { return key >> 32 & 0xffff; }

// Almost certainly different for all keys, and far apart. So a version alone tells that the block
// still belongs to the segment.
inline constexpr std::uint64_t version_base(Key key) {
  std::uint64_t mixed = (key ^ key >> 32) * 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u;
  return mixed ^ mixed >> 32;
}

inline constexpr std::size_t heap_begin = directory_size * sizeof(Descriptor);
inline constexpr std::size_t descriptor_offset(Key key) {
  return (key >> 32 & 0xffff) * sizeof(Descriptor);
}

// Under DDSS_DELTA the data are slots: one for each version that can be got (the newest and `keep`
// old ones), and one to write.
inline std::size_t slot_bytes(std::size_t size) { return sizeof(SlotHeader) + (size + 7) / 8 * 8; }
inline std::size_t slots_of(const Descriptor& descriptor) {
  return std::size_t{descriptor.keep} + 2;
}

}  // namespace iw::ddss
