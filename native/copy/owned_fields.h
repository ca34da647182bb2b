// Fields that own a block [WIRE-7]: where they lie in values of a type, also inside the active arms
// of unions, and what they hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "types/plan.h"
#include "types/type.h"

namespace iw::copy {

// Whether a value of the type has such a field, or a union that may have one.
inline bool has_owned_fields(const types::Type& type) {
  if (!type.contains_pointers) return false;
  for (const types::Step& step : type.plan.steps) {
    if (step.kind == types::UnitKind::sequence || step.kind == types::UnitKind::text ||
        step.kind == types::UnitKind::choice ||
        (step.kind == types::UnitKind::repeat && has_owned_fields(*step.type))) {
      return true;
    }
  }
  return false;
}

// Calls visit(offset_bytes, value) for the fields that hold something among the units [first, end)
// of an array at `base`, in order. The offset is that of the pointer itself. False: a union has a
// discriminant that selects nothing, so that what it holds cannot be told.
template <typename Visit>
bool for_each_owned(const types::Step& array, std::uint64_t first, std::uint64_t end,
                    const std::byte* base, std::size_t base_offset_bytes, Visit&& visit) {
  using types::UnitKind;
  return types::for_each_row(array, first, end, [&](const types::UnitRow& row) {
    if (row.kind != UnitKind::sequence && row.kind != UnitKind::text &&
        row.kind != UnitKind::choice) {
      return true;
    }
    for (std::uint64_t i = 0; i < row.count; ++i) {
      std::size_t offset = row.offset_bytes + static_cast<std::size_t>(i) * row.stride_bytes;
      if (row.kind == UnitKind::choice) {
        std::int32_t discriminant;
        std::memcpy(&discriminant, base + offset, sizeof discriminant);
        const types::Arm* const arm = row.type->arm_for(discriminant);
        if (arm == nullptr && discriminant != 0) return false;
        if (arm == nullptr || arm->type == nullptr || !arm->type->contains_pointers) continue;
        offset += arm->offset_bytes;
        const types::Step whole = types::array_step(*arm->type, 1);
        if (!for_each_owned(whole, 0, whole.end_unit(), base + offset, base_offset_bytes + offset,
                            visit)) {
          return false;
        }
        continue;
      }
      if (row.kind == UnitKind::sequence) offset += offsetof(types::NativeSequence, elements);
      void* value;
      std::memcpy(&value, base + offset, sizeof value);
      if (value != nullptr) visit(base_offset_bytes + offset, value);
    }
    return true;
  });
}

}  // namespace iw::copy
