// What a Memory's key says: where the memory lies in its process, which process that is, what the
// memory is called there, and the transport's own key if others may reach it without asking.
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

inline std::vector<std::byte> encode(const MemoryKey& key, Bytes transport_key) {
  std::vector<std::byte> bytes(sizeof key + transport_key.size());
  std::memcpy(bytes.data(), &key, sizeof key);
  std::copy(transport_key.begin(), transport_key.end(), bytes.begin() + sizeof key);
  return bytes;
}

inline std::optional<MemoryKey> decode(Bytes bytes, Bytes* transport_key) {
  MemoryKey key;
  if (bytes.size() < sizeof key || bytes.size() > key_bytes_max) return std::nullopt;
  std::memcpy(&key, bytes.data(), sizeof key);
  if (key.address + key.size < key.address) return std::nullopt;
  *transport_key = bytes.subspan(sizeof key);
  return key;
}

}  // namespace iw::fabric
