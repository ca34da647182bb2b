// How the process-wide address map and the heaps meet.
//
// A table by granule leads to the MapEntry of the subsegment there, and this to the anchor of its
// heap. Entries and anchors are never freed, only used again, so a reader may follow a pointer that
// has just become old; then it enters the anchor's gate and looks whether the way is still the
// same. What it sees inside the gate stays until it leaves.
#pragma once

#include <atomic>
#include <cstddef>

#include "memory/gate.h"

namespace iw::memory {

struct HeapState;
class Subsegment;

struct HeapAnchor {
  Gate gate;
  std::atomic<HeapState*> heap{nullptr};  // null: unused; changed inside the gate
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
