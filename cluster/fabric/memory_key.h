// What a Memory's key says: where the memory lies in its process, which process that is, what the
// memory is called there, and by what others may reach it without asking: the number of its shared
// segment, or the adapter's key.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>

#include "fabric/process_name.h"
#include "fabric/regions.h"

namespace iw::fabric {

struct MemoryKey {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::array<std::uint64_t, 2> process_nonce{};
  RegionName region;
};

inline std::vector<std::byte> encode(const MemoryKey& key, Bytes own_key) {
  std::vector<std::byte> bytes(sizeof key + own_key.size());
  std::memcpy(bytes.data(), &key, sizeof key);
  std::copy(own_key.begin(), own_key.end(), bytes.begin() + sizeof key);
  return bytes;
}

inline std::optional<MemoryKey> decode(Bytes bytes, Bytes* own_key) {
  MemoryKey key;
  if (bytes.size() < sizeof key || bytes.size() > key_bytes_max) return std::nullopt;
  std::memcpy(&key, bytes.data(), sizeof key);
  if (key.address + key.size < key.address) return std::nullopt;
  *own_key = bytes.subspan(sizeof key);
  return key;
}

}  // namespace iw::fabric
