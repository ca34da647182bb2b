// Swizzling: wire pointers to addresses and back, for the pointers of one segment.
//
// Made for one translation (of a diff, of a value), by the thread that holds the segment's mutex;
// the segment frees no block meanwhile. Other segments are reached through the process-wide address
// map and the Resolver, and may change at the same time.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "memory/address_map.h"
#include "memory/heap.h"
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
};

class Swizzler {
 public:
  Swizzler(memory::Heap& own, SlotTable& slots, Resolver& resolver,
           StubArena& stubs = StubArena::program())
      : own_(own), slots_(slots), resolver_(resolver), stubs_(stubs) {}

  // An address found in a pointer field. `target` is what the pointer type says, null for `void *`.
  // BAD_POINTER: it leads to no unit of a block, or to one of another type. A new segment gets a
  // slot. A stub becomes again the wire pointer it was.
  Result to_wire(const void* address, const types::Type* target, WirePointer& out);

  // Never fails for what a pointer leads to: what cannot be an address becomes a stub. BAD_POINTER
  // for what the server should have refused [WIRE-6]; NO_MEMORY when there are too many stubs.
  Result from_wire(const WirePointer& pointer, const types::Type* target, void*& out);

  // Sequences and texts [WIRE-7]: an owned block of this segment, of `element`, by its first byte;
  // `count` values. NULL has count 0. There are no stubs for these: BAD_POINTER.
  Result owned_to_wire(const void* address, const types::Type& element, std::uint64_t count,
                       WirePointer& out);
  Result owned_from_wire(const WirePointer& pointer, const types::Type& element, void*& out,
                         std::uint64_t& count);

 private:
  Result block_to_wire(const memory::Block& block, std::size_t offset_bytes, std::uint16_t slot,
                       const types::Type* target, WirePointer& out) const;
  Result other_to_wire(const void* address, const types::Type* target, WirePointer& out);
  Result stub_to_wire(const StubTarget& stub, WirePointer& out);
  Result slot_of_heap(std::uint64_t heap_number, const void* address, std::uint16_t& out);
  Result other_from_wire(const WirePointer& pointer, const types::Type* target, void*& out);
  Result address_in(const memory::Block& block, const types::Url& url, const WirePointer& pointer,
                    const types::Type* target, void*& out);
  memory::Heap* heap_of_slot(std::uint16_t slot);

  memory::Heap& own_;
  SlotTable& slots_;
  Resolver& resolver_;
  StubArena& stubs_;

  // Predictions: the next pointer mostly leads where the last one led.
  memory::Block last_own_;
  memory::FoundBlock last_other_;
  memory::Block last_in_slot_;
  std::uint16_t last_slot_ = 0;
  std::uint16_t last_other_slot_ = 0;
  std::unordered_map<std::uint64_t, std::uint16_t> slot_of_heap_;
  std::unordered_map<std::uint16_t, memory::Heap*> heap_of_slot_;
};

}  // namespace iw::swizzle
