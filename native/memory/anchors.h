// The link between the process-wide address map and the heaps.
//
// A table by granule leads to the MapEntry of the subsegment there, and the MapEntry leads to the
// anchor of its heap. Entries and anchors are never freed, only used again. A reader may therefore
// follow a pointer that has just become old. The reader then enters the anchor's gate and checks
// that the path is still the same. Inside the gate nothing changes until the reader leaves.
#pragma once

#include <atomic>
#include <cstddef>

#include "memory/gate.h"

namespace iw::memory {

struct HeapState;
class Subsegment;

struct HeapAnchor {
  Gate gate;
  std::atomic<HeapState*> heap{nullptr};  // null: unused; changed only inside the gate
  std::atomic<unsigned> made_in_fork{0};  // a child never enters a gate of its parent
  HeapAnchor* next_unused = nullptr;      // while nobody has it
};

struct MapEntry {
  std::atomic<HeapAnchor*> anchor{nullptr};
  std::atomic<Subsegment*> subsegment{nullptr};
  MapEntry* next_unused = nullptr;  // while nobody has it
};

// May throw std::bad_alloc.
HeapAnchor* take_anchor();
MapEntry* take_entry();

void give_back(HeapAnchor* anchor) noexcept;
void give_back(MapEntry* entry) noexcept;

// Inside the anchor's gate, locked. False: no memory for the table.
bool enter_in_map(Subsegment& subsegment, HeapAnchor& anchor);
void remove_from_map(Subsegment& subsegment);

// Inside the gate of `anchor`: its subsegment at the address, or null.
Subsegment* subsegment_at(const HeapAnchor& anchor, const void* address) noexcept;

}  // namespace iw::memory
