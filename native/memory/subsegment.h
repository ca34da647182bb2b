// One stretch of a heap's memory: a track::Area at a granule boundary, and the map of the extents
// (blocks and free space) that fill it. A large block has a subsegment of its own, with one extent.
#pragma once

#include <cstddef>
#include <memory>

#include "memory/address_space.h"
#include "memory/start_bits.h"
#include "track/tracker.h"

namespace iw::memory {

struct MapEntry;

inline constexpr std::size_t kPlaceBytes = 16;  // blocks begin at multiples of it

class Subsegment {
 public:
  // In `space` if it has room, anywhere otherwise. A granule of one of many shares mappings.
  static platform::Status create(track::Tracker& tracker, bool read_only, std::size_t size_bytes,
                                 bool single, AddressSpace& space,
                                 std::unique_ptr<Subsegment>& out);
  ~Subsegment();
  Subsegment(const Subsegment&) = delete;
  Subsegment& operator=(const Subsegment&) = delete;

  [[nodiscard]] std::byte* begin() const { return begin_; }
  [[nodiscard]] std::byte* end() const { return begin_ + size_bytes_; }
  [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }
  [[nodiscard]] bool is_single() const { return is_single_; }
  [[nodiscard]] track::Area& area() const { return *area_; }
  [[nodiscard]] std::size_t offset_of(const std::byte* address) const {
    return static_cast<std::size_t>(address - begin_);
  }

  // Beginnings of extents. Null: none.
  void set_start(const std::byte* at) { starts_.set(place_of(at)); }
  void clear_start(const std::byte* at) { starts_.clear(place_of(at)); }
  [[nodiscard]] std::byte* start_at_or_before(const std::byte* at) const noexcept {
    return address_of(starts_.previous(place_of(at)));
  }
  [[nodiscard]] std::byte* start_after(const std::byte* at) const noexcept {
    return address_of(starts_.next(place_of(at) + 1));
  }

  [[nodiscard]] std::size_t overhead_bytes() const { return sizeof *this + starts_.bytes(); }

  MapEntry* map_entry = nullptr;  // of the process-wide map
  bool is_touched = false;        // written to since the last apply_done
  std::uint32_t pins = 0;         // it stays without blocks while there are any

 private:
  platform::Status reserve_own(std::byte*& begin);
  Subsegment(std::size_t size_bytes, bool single)
      : size_bytes_(size_bytes),
        is_single_(single),
        starts_(single ? 1 : size_bytes / kPlaceBytes) {}

  [[nodiscard]] std::size_t place_of(const std::byte* at) const noexcept {
    return is_single_ ? 0 : offset_of(at) / kPlaceBytes;
  }
  [[nodiscard]] std::byte* address_of(std::size_t place) const noexcept {
    return place == StartBits::none ? nullptr : begin_ + place * kPlaceBytes;
  }

  std::byte* begin_ = nullptr;
  std::size_t size_bytes_;
  bool is_single_;
  StartBits starts_;
  AddressSpace* space_ = nullptr;      // that it was taken from, or null
  platform::Mapping own_reservation_;  // if it was not
  std::unique_ptr<track::Area> area_;  // ends before the reservation that it lies in
};

}  // namespace iw::memory
