// What a Memory's key says: where the memory lies in its process, which process that is, what the
// memory is called there, and by what others may reach it without asking: the number of its shared
// segment, or the adapter's key.
#pragma once

#include <optional>
#include <vector>

#include "fabric/process_name.h"
#include "fabric/regions.h"

namespace iw::fabric {

inline std::vector<std::byte> encode(const MemoryKey& key, Bytes own_key) {
  return encode(PackedMemoryKey{key, own_key});
}

// [FAB-9]
inline std::optional<MemoryKey> decode(Bytes bytes, Bytes* own_key) {
  PackedMemoryKey packed;
  if (!decode(bytes, &packed)) return std::nullopt;
  if (packed.key.address + packed.key.size < packed.key.address) return std::nullopt;
  *own_key = packed.own_key;
  return packed.key;
}

}  // namespace iw::fabric
