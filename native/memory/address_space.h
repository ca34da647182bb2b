// The address space of one heap: a large reservation, at an address derived from the segment's URL
// when that is free, so that the same segment mostly lies at the same place in every process and
// run. Given out and taken back in granules of 64 KiB (a multiple of every machine's page).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "platform/byte_range.h"
#include "platform/memory.h"

namespace iw::memory {

inline constexpr std::size_t kGranuleBytes = std::size_t{64} << 10;

class AddressSpace {
 public:
  // As much of the wanted size as the system allows; perhaps nothing.
  AddressSpace(std::string_view url, std::size_t wanted_bytes);

  // Null: no room; sizes are multiples of the granule.
  std::byte* take(std::size_t size_bytes);
  void give_back(std::byte* begin, std::size_t size_bytes);

  [[nodiscard]] const platform::Mapping& reservation() const { return reservation_; }

 private:
  void reserve(std::uint64_t hash, std::size_t size_bytes);

  platform::Mapping reservation_;
  std::byte* first_granule_ = nullptr;
  std::vector<platform::ByteRange> free_;  // sorted, neighbours joined
};

}  // namespace iw::memory
