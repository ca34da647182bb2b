// A writer's diff: what changed in a segment during one writer section, in wire format
// (spec/format/diff.md; ICDCS'03 3.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "diff/format.h"
#include "diff/pieces.h"
#include "memory/heap.h"
#include "swizzle/slot_table.h"
#include "swizzle/swizzler.h"
#include "types/result.h"
#include "types/segment_types.h"

namespace iw::diff {

using types::Result;

struct Release {
  memory::Heap& heap;  // in a writer section, after Heap::collect()
  const types::SegmentTypes& types;
  swizzle::SlotTable& slots;  // gets an entry for each segment newly pointed at
  swizzle::Swizzler& swizzler;
  std::uint64_t from = 0;                             // the version the writer worked on
  std::span<const memory::SubsegmentRuns> runs = {};  // of Heap::changed_runs()
  // Whether long runs of numbers may be sent from the application's memory, where wire format and
  // memory agree byte for byte.
  bool may_send_views = true;
  Options options = {};
};

// A collected diff. Unless may_send_views was false, the diff refers to the application's view. It
// must then be sent, or copied with flattened(), while the writer lock is held and nobody stores.
class CollectedDiff {
 public:
  [[nodiscard]] std::uint64_t size_bytes() const { return statistics_.bytes; }
  // In order; for writev.
  [[nodiscard]] std::vector<std::span<const std::byte>> slices() const;
  [[nodiscard]] std::vector<std::byte> flattened() const;
  [[nodiscard]] const Statistics& statistics() const { return statistics_; }
  // Header only: the release would make a version in which nothing changed [DIFF-6].
  [[nodiscard]] bool is_empty() const { return is_empty_; }

  // Empty again. The memory is kept for the next diff.
  void clear() {
    head_.clear();
    changes_.clear();
    statistics_ = {};
    is_empty_ = true;
  }

 private:
  friend class Collector;
  Pieces head_;     // everything but the body of CHANGES
  Pieces changes_;  // that body
  Statistics statistics_;
  bool is_empty_ = true;
};

// Collects the diff of a writer section. BAD_POINTER, BAD_VALUE: the application stored a value
// that its type does not allow; the text says where. The slot table may then have provisional
// entries.
Result collect(const Release& release, CollectedDiff& out);

}  // namespace iw::diff
