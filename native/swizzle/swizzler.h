// Swizzling: wire pointers to addresses and back, for the pointers of one segment.
//
// A Swizzler serves one translation (of a diff, of a value), made by the thread that holds the
// segment's mutex; the segment frees no block meanwhile. Other segments are reached through the
// process-wide address map and the Resolver, and may change at the same time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "memory/address_map.h"
#include "memory/heap.h"
#include "memory/trail.h"
#include "swizzle/slot_table.h"
#include "swizzle/stub_arena.h"
#include "swizzle/wire_pointer.h"
#include "types/result.h"
#include "types/type.h"

namespace iw::swizzle {

// How the segments of this process are found; implemented above.
class Resolver {
 public:
  virtual ~Resolver() = default;
  // The heap of a segment that is known in this process, open or with reserved blocks only; it
  // stays at least until the translation ends. Null: it is not known. Must not make network calls
  // or take the mutex of a segment: blocks of other segments are reserved before the translation.
  virtual memory::Heap* find(const types::Url& url) = 0;
  // Why a block of another segment is not there.
  virtual StubReason why_missing(const types::Url&) { return StubReason::not_mapped; }
};

class Swizzler {
 public:
  // Pointers that are looked up together, so that a heap's gate is entered once for all of them.
  static constexpr std::size_t kMostTogether = 32;

  Swizzler(memory::Heap& own, SlotTable& slots, Resolver& resolver,
           StubArena& stubs = StubArena::program())
      : own_(own), slots_(slots), resolver_(resolver), stubs_(stubs) {}

  // Whether to predict blocks (memory/trail.h); and how many an index was searched for.
  void predict_blocks(bool yes) { addresses_.predicts = serials_.predicts = yes; }
  [[nodiscard]] std::uint64_t searched() const { return addresses_.searched + serials_.searched; }

  // Converts an address that was found in a pointer field. `target` is the pointer type's target,
  // null for `void *`. BAD_POINTER: the address does not lead to a unit of a block, or leads to a
  // unit of another type. A new segment gets a slot. A stub becomes the wire pointer that it was.
  Result to_wire(const void* address, const types::Type* target, WirePointer& out);
  // A row of at most kMostTogether. `done`: how many there are before the one that is refused.
  Result to_wire(std::span<const void* const> addresses, const types::Type* target,
                 WirePointer* out, std::size_t& done);

  // Converts wire pointers. A pointer that cannot be an address becomes a stub. BAD_POINTER: the
  // server should have refused the pointer [WIRE-6]. NO_MEMORY: there are too many stubs.
  Result from_wire(const WirePointer& pointer, const types::Type* target, void*& out);
  Result from_wire(std::span<const WirePointer> pointers, const types::Type* target, void** out,
                   std::size_t& done);

  // Sequences and texts [WIRE-7]: an owned block of this segment, of `element`, by its first byte.
  // `count` is the sequence's length, or any_count; NULL has length 0. There are no stubs for
  // these: BAD_POINTER, and BAD_VALUE for a length that is not the block's.
  static constexpr std::uint64_t any_count = ~std::uint64_t{0};
  Result owned_to_wire(const void* address, const types::Type& element, std::uint64_t count,
                       WirePointer& out);
  Result owned_from_wire(const WirePointer& pointer, const types::Type& element, void*& out,
                         std::uint64_t& count);

 private:
  Result found_to_wire(const memory::FoundBlock& found, const types::Type* target,
                       WirePointer& out);
  Result stub_to_wire(const void* address, WirePointer& out);
  Result slot_of_found(const memory::FoundBlock& found, std::uint16_t& out);
  Result slot_of_url(const types::Url& url, std::uint16_t& out);
  [[nodiscard]] bool has_meaning(const WirePointer& pointer) const;
  void find_in_slot(std::uint16_t slot, std::span<const std::uint64_t> serials, memory::Block* out);
  Result address_in(const memory::Block& block, const WirePointer& pointer,
                    const types::Type* target, void*& out);
  StubReason why_missing(std::uint16_t slot);
  Result stub(const WirePointer& pointer, StubReason reason, void*& out);

  memory::Heap& own_;
  SlotTable& slots_;
  Resolver& resolver_;
  StubArena& stubs_;

  // What was found for a row, kept for its memory.
  std::array<memory::FoundBlock, kMostTogether> found_;
  std::array<memory::Block, kMostTogether> blocks_;
  memory::Trail addresses_;  // of blocks found by address, and by serial
  memory::Trail serials_;
  std::uint64_t last_heap_ = 0;  // of another segment, and its slot
  std::uint16_t last_slot_ = 0;
  std::unordered_map<std::uint64_t, std::uint16_t> slot_of_heap_;  // by the heap's number
  std::unordered_map<std::uint16_t, memory::Heap*> heap_of_slot_;
};

}  // namespace iw::swizzle
