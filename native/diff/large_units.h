// Splicing works on words and knows no types: what lies in a gap may be a pointer, which takes
// 16 bytes where it travels, and costs more than the run that the splicing saved. Such units do not
// travel unless they changed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "types/navigation.h"
#include "types/plan.h"
#include "types/type.h"

namespace iw::diff {

// A run may cost 8 bytes; so may what splicing sends in its place.
inline constexpr std::uint64_t kMostSplicedSlotBytes = 8;

inline bool has_large_units(const types::Step& step) {
  if (step.kind != types::UnitKind::repeat) return step.slot_bytes_each > kMostSplicedSlotBytes;
  const auto& inner = step.type->plan.steps;
  return std::any_of(inner.begin(), inner.end(), has_large_units);
}

namespace large_units_detail {
// How many units from the first on differ.
template <typename Word>
std::uint64_t differing_words(const std::byte* a, const std::byte* b, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i, a += sizeof(Word), b += sizeof(Word)) {
    Word of_a;
    Word of_b;
    std::memcpy(&of_a, a, sizeof of_a);
    std::memcpy(&of_b, b, sizeof of_b);
    if (of_a == of_b) return i;
  }
  return count;
}

inline std::uint64_t differing(const std::byte* a, const std::byte* b, std::size_t bytes,
                               std::uint64_t count) {
  if (bytes == sizeof(void*)) return differing_words<std::uintptr_t>(a, b, count);
  std::uint64_t i = 0;
  while (i < count && std::memcmp(a + i * bytes, b + i * bytes, bytes) != 0) ++i;
  return i;
}
}  // namespace large_units_detail

// Calls f(UnitRange) for what the range is without the large units that are as in the pristine
// copy. `view` and `pristine` are where the array begins.
template <typename F>
void for_each_without_equal_large_units(const types::Step& array, types::UnitRange range,
                                        const std::byte* view, const std::byte* pristine, F&& f) {
  std::uint64_t first = range.first;
  types::for_each_row(array, range.first, range.end, [&](const types::UnitRow& row) {
    if (row.type == nullptr || row.type->slot_bytes <= kMostSplicedSlotBytes) return true;
    for (std::uint64_t i = 0; i < row.count; ++i) {
      const std::size_t at = row.offset_bytes + static_cast<std::size_t>(i) * row.stride_bytes;
      i += large_units_detail::differing(view + at, pristine + at, row.stride_bytes, row.count - i);
      if (i == row.count) break;
      const std::uint64_t unit = row.first_unit + i;
      if (first < unit) f(types::UnitRange{first, unit});
      first = unit + 1;
    }
    return true;
  });
  if (first < range.end) f(types::UnitRange{first, range.end});
}

}  // namespace iw::diff
