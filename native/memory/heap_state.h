// The state of a heap. REQUIRES: the caller is inside the heap's gate, which is locked for changes
// and entered for const functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "memory/address_space.h"
#include "memory/anchors.h"
#include "memory/block_index.h"
#include "memory/free_extents.h"
#include "memory/heap.h"
#include "memory/subsegment.h"

namespace iw::memory {

// The writer section under way: what an abort undoes and a release tells.
struct SectionChanges {
  bool is_open = false;
  bool is_armed = false;                   // stores are allowed
  std::vector<SerialRange> serials;        // not yet given out, the next one at the back
  std::vector<std::uint64_t> created;      // in order; some may have been freed again
  std::vector<std::uint64_t> freed;        // that existed before
  std::vector<SubsegmentPages> collected;  // stored to in this section
};

// Of a row of look-ups.
inline constexpr std::size_t kFoundTogether = 32;

struct NewBlock {
  std::uint64_t serial;
  const types::Type& type;
  std::uint64_t count;
  std::string_view name;
  unsigned flags;
};

struct HeapState {
  HeapState(const HeapOptions& chosen, track::Tracker& chosen_tracker);

  HeapOptions options;
  track::Tracker& tracker;
  std::uint64_t number;
  unsigned made_in_fork;
  HeapAnchor* anchor = nullptr;

  AddressSpace space;
  std::vector<std::unique_ptr<Subsegment>> subsegments;  // in order of address
  std::vector<std::unique_ptr<Subsegment>> parked;       // dropped, but pinned
  BlockIndex index;
  FreeExtents free_extents{index};
  SectionChanges section;
  track::Access access;
  std::uint64_t native_bytes = 0;
  Subsegment* last_applied_to = nullptr;  // mostly that of the next run, too
  std::size_t shared_subsegments = 0;     // those that are not of one block
  std::size_t shared_bytes = 0;

  [[nodiscard]] bool is_forked() const;

  // Finds the visible block at the address, one past its end included. Async-signal-safe.
  bool block_at(const Subsegment& subsegment, const std::byte* address, Block& out) const noexcept;
  // As block_at, if the beginning of the extent is known.
  bool block_from(const std::byte* start, const std::byte* address, Trail& trail,
                  Block& out) const noexcept;
  [[nodiscard]] std::size_t used_bytes(const Subsegment& subsegment) const;

  // Creates a block of zeros. On failure, or if it throws std::bad_alloc, no block has changed.
  Result create(const NewBlock& wanted, RecordId& out);
  // Frees the extent of a block. REQUIRES: its memory is zero, or a subsegment of its own.
  void release(RecordId id);
  void add_flags(RecordId id, unsigned flags) { index.at(id).flags |= flags & 0xFFFF; }
  void clear_flags(RecordId id, unsigned flags) { index.at(id).flags &= ~flags & 0xFFFF; }
  [[nodiscard]] RecordId visible(std::uint64_t serial) const;
  [[nodiscard]] Subsegment& subsegment_of(RecordId id) const;
  // The first one that begins at or after the address.
  [[nodiscard]] std::vector<std::unique_ptr<Subsegment>>::const_iterator subsegment_from(
      const std::byte* address) const;

 private:
  Result check(const NewBlock& wanted, std::size_t& extent_bytes) const;
  Result place(const NewBlock& wanted, std::size_t extent_bytes, RecordId& out);
  Result extent_for(std::size_t extent_bytes, std::size_t align_bytes, RecordId& out);
  Result add_subsegment(std::size_t extent_bytes, RecordId& out);
  void drop_subsegment(Subsegment& subsegment);
  RecordId cut_front(RecordId id, std::size_t front_bytes);
  RecordId joined_with_neighbours(RecordId id);
};

Result failed(const platform::Status& status);  // NO_MEMORY, FORKED or INTERNAL
Result forked();

// Runs `step` of an area. Without memory for it, calls show_pristine(), which needs none.
template <typename Step>
platform::Status without_memory(track::Area& area, Step&& step) {
  try {
    return step();
  } catch (const std::bad_alloc&) {
    return area.show_pristine();
  }
}

}  // namespace iw::memory
