// Finds the changes that a release sends. Normally they are the runs that differ from the pristine
// copy.
//
// An area is a large block, or all blocks that share a subsegment. If the last releases rewrote an
// area whole, its blocks are sent from end to end without comparing. This is the no-diff mode of
// ICDCS'03 3.3: by block and, when all areas are in it, by segment. From time to time such an area
// is compared again. Each release also compares a sample of its words. An application that changes
// its habits therefore sends unchanged bytes at most once, and few.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "copy/optimisations.h"
#include "memory/heap.h"
#include "types/result.h"

namespace iw::copy {

struct LookedAt {
  std::uint64_t compared_bytes = 0;  // of pages compared with the pristine copy
  std::uint64_t whole_bytes = 0;     // of blocks taken as they are
};

inline runs::Splicing splicing_of(const Optimisations& optimisations) {
  return optimisations.splicing ? runs::Splicing::on : runs::Splicing::off;
}

// `written` as Heap::collect() has listed it. `out` is replaced, in order of address.
types::Result find_changes(const memory::Heap& heap,
                           std::span<const memory::SubsegmentPages> written,
                           const Optimisations& optimisations,
                           std::vector<memory::SubsegmentRuns>& out, LookedAt& looked_at);

}  // namespace iw::copy
