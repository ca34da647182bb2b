// Splicing works on words and knows no types. A gap that it closes may contain a pointer, which
// takes 16 bytes in a diff and costs more than the saved run. Unchanged units of that size are
// therefore taken out of a run again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "types/navigation.h"
#include "types/plan.h"
#include "types/type.h"

namespace iw::diff {

// The head of a run costs up to 8 bytes, so splicing may send that much unchanged data instead.
inline constexpr std::uint64_t kMostSplicedSlotBytes = 8;

inline bool has_large_units(const types::Step& step) {
  if (step.kind != types::UnitKind::repeat) return step.slot_bytes_each > kMostSplicedSlotBytes;
  const auto& inner = step.type->plan.steps;
  return std::any_of(inner.begin(), inner.end(), has_large_units);
}

namespace large_units_detail {
// How many units differ, from the first on, before the first equal one.
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

// Calls f(UnitRange) for the parts of the range that remain when large units that equal the
// pristine copy are left out. The array begins at `view` and at `pristine`.
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
