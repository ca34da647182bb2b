// Finds changes: compares a view with its pristine copy word by word.
//
// A word is 4 bytes, counted from the start of the memory, which is aligned to 4 bytes. A partial
// last word counts as one. REQUIRES: the caller holds the writer lock, so nobody stores meanwhile.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "platform/byte_range.h"

namespace iw::runs {

using platform::ByteRange;

struct Run {
  std::size_t offset_bytes = 0;
  std::size_t length_bytes = 0;
  bool has_gaps = false;  // splicing joined it from several
  friend bool operator==(const Run&, const Run&) = default;
};

// Splicing joins two runs that are one or two unchanged words apart, because a run header costs
// more than those words. A pointer is larger in a diff than in memory, so a caller that knows the
// types examines the runs that have gaps.
enum class Splicing { off, on };

// Appends the changed runs of the first size_bytes, in order, maximal.
void find_changed_runs(const std::byte* view, const std::byte* pristine, std::size_t size_bytes,
                       std::vector<Run>& out, Splicing splicing = Splicing::on);

// The same for the given ranges only: word aligned, sorted, not overlapping. Runs go across
// touching ranges as if they were one; nothing outside the ranges is read.
void find_changed_runs(const std::byte* view, const std::byte* pristine,
                       std::span<const ByteRange> ranges, std::vector<Run>& out,
                       Splicing splicing = Splicing::on);

// Sorts ranges and joins those that touch or overlap; empty ones vanish.
void coalesce(std::vector<ByteRange>& ranges);

}  // namespace iw::runs
