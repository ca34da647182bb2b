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
template <typename Word>
bool equal_words(const std::byte* a, const std::byte* b) {
  Word of_a;
  Word of_b;
  std::memcpy(&of_a, a, sizeof of_a);
  std::memcpy(&of_b, b, sizeof of_b);
  return of_a == of_b;
}

inline bool equal(const std::byte* a, const std::byte* b, std::size_t bytes) {
  if (bytes == sizeof(void*)) return equal_words<std::uintptr_t>(a, b);
  return std::memcmp(a, b, bytes) == 0;
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
    std::size_t at = row.offset_bytes;
    for (std::uint64_t i = 0; i < row.count; ++i, at += row.stride_bytes) {
      if (!large_units_detail::equal(view + at, pristine + at, row.stride_bytes)) continue;
      const std::uint64_t unit = row.first_unit + i;
      if (first < unit) f(types::UnitRange{first, unit});
      first = unit + 1;
    }
    return true;
  });
  if (first < range.end) f(types::UnitRange{first, range.end});
}

}  // namespace iw::diff
