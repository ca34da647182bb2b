#include "fabric/packed.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace iw::fabric {
namespace {

// More than what a domain's key is taken to have.
constexpr std::size_t key_frame_bytes = 256;
// More than what a device, a transport and its ends have, with lengths of a byte each.
constexpr std::size_t address_frame_bytes = 2048;

std::vector<std::byte> framed(Bytes bytes, std::size_t frame_bytes, std::byte filler) {
  std::vector<std::byte> both(bytes.size() + frame_bytes, filler);
  std::copy(bytes.begin(), bytes.end(), both.begin());
  return both;
}

}  // namespace

bool is_packed_key(Bytes key) {
  std::uint64_t domains = 0;
  if (key.size() <= sizeof domains) return false;
  std::memcpy(&domains, key.data(), sizeof domains);
  key = key.subspan(sizeof domains);
  const bool is_host_memory = key[0] == std::byte{0};
  key = key.subspan(1);
  for (int left = std::popcount(domains); left > 0; left--) {
    if (key.empty()) return false;
    const auto bytes = std::to_integer<std::size_t>(key[0]);
    if (bytes > key.size() - 1) return false;
    key = key.subspan(1 + bytes);
  }
  return is_host_memory && key.empty();
}

std::vector<std::byte> framed_key(Bytes key) { return framed(key, key_frame_bytes, std::byte{0}); }

std::vector<std::byte> framed_address(Bytes address) {
  return framed(address, address_frame_bytes, std::byte{0xff});
}

}  // namespace iw::fabric
