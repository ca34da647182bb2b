// The address space of one heap: a reservation at an address that is derived from the segment's
// URL, if that address is free. The same segment therefore mostly lies at the same place in every
// process and run. Space is given out and taken back in granules of 64 KiB (a multiple of every
// machine's page).
//
// The more reservations there are, the less a new one takes, so that all segments of a process
// leave half of the address space to the program. The n-th takes at most a sixteenth of the
// process's address space divided by n; the sum of 1/k up to n grows as the logarithm of n. From
// some 2,000 on, memory lies wherever there is room. In a process with a limit of its own
// (ulimit -v), a new reservation takes at most an eighth of the remaining space. A heap that
// outgrows its reservation takes further memory anywhere. From some 2,000 on, the heaps of a 64-bit
// process reserve nothing until they need more than a granule: their first granules share mappings
// (track/slab.h), because a process has fewer mappings than it may have segments.
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
  // Reserves as much of the wanted size as the share and the system allow; perhaps nothing. One of
  // many reserves when it first needs more than a granule.
  AddressSpace(std::string_view url, std::size_t wanted_bytes);
  ~AddressSpace();
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  // Null: no room; sizes are multiples of the granule. One of many has no room for a granule until
  // it has reserved.
  std::byte* take(std::size_t size_bytes);
  void give_back(std::byte* begin, std::size_t size_bytes);

  // There are so many that their granules are to share mappings.
  [[nodiscard]] bool is_one_of_many() const { return is_one_of_many_; }
  [[nodiscard]] const platform::Mapping& reservation() const { return reservation_; }

 private:
  void reserve(std::size_t size_bytes, const std::uint64_t* hash);
  bool reserve_at_place(std::uint64_t hash, std::size_t size_bytes);

  bool is_counted_ = false;
  bool is_one_of_many_ = false;
  std::size_t later_bytes_ = 0;  // to be reserved when more than a granule is needed
  platform::Mapping reservation_;
  std::byte* first_granule_ = nullptr;
  std::vector<platform::ByteRange> free_;  // sorted, neighbours joined
};

}  // namespace iw::memory
