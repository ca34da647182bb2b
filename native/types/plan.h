// Translation plans: where each primitive unit of a type lies in memory and how it is translated. A
// plan is compiled once per type (the isomorphic descriptors of ICDCS'03 3.3). Neighbouring units
// of one kind and size become one step. A record of ten ints is ten units in one step, and an array
// of such records is also one step.
//
// Steps ascend in units and in bytes. A repeat step stands for `count` values of another type, with
// that type's plan; small plans are written out in place, so that most types need no repeats.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace iw::types {

struct Type;

enum class UnitKind : std::uint8_t {
  number,       // 1, 2, 4 or 8 bytes, copied (byte order aside) without looking at them
  boolean,      // 4 bytes, 0 or 1
  enumeration,  // 4 bytes, a member's value or 0
  string,       // char[N + 1]
  choice,       // a union: discriminant and active arm
  pointer,
  sequence,
  text,
  repeat  // not a unit: `count` values of `type`
};

struct Step {
  UnitKind kind = UnitKind::number;
  std::uint8_t number_bytes = 0;        // number: 1, 2, 4, 8
  const Type* type = nullptr;           // of the unit; repeat: of the repeated value
  std::uint64_t first_unit = 0;         // from the beginning of the type
  std::uint64_t count = 0;              // of values; each is one unit unless this is a repeat
  std::uint64_t units_each = 1;         // 1, or the units of a repeated value
  std::size_t offset_bytes = 0;         // in memory, from the beginning of the type
  std::size_t stride_bytes = 0;         // in memory, from one value to the next: the value's size
  std::uint64_t slot_offset_bytes = 0;  // in wire format
  std::uint64_t slot_bytes_each = 0;

  [[nodiscard]] std::uint64_t end_unit() const { return first_unit + count * units_each; }
  [[nodiscard]] std::size_t end_bytes() const {
    return offset_bytes + static_cast<std::size_t>(count) * stride_bytes;
  }
};

struct Plan {
  std::vector<Step> steps;

  // The step that holds `unit`, which is below the type's units.
  [[nodiscard]] const Step& step_of_unit(std::uint64_t unit) const;
  // The last step that begins at or before the byte; null if none does.
  [[nodiscard]] const Step* step_before_byte(std::size_t offset_bytes) const;
};

// Chooses whether equal neighbouring units become one step (the isomorphic descriptors of ICDCS'03
// 3.3); they do by default. For measurements. REQUIRES: no type has been compiled yet.
void set_merging_of_plans(bool is_on);

// The step that stands for an array of `count` values of `type`, as a block is.
Step array_step(const Type& type, std::uint64_t count);

// A row of equal units at equal distances in memory, for translation. For a visitor that takes
// whole values, a row of values (kind repeat).
struct UnitRow {
  UnitKind kind;
  std::uint8_t number_bytes;
  const Type* type;
  std::uint64_t first_unit;  // from the beginning of the walk's array
  std::uint64_t count;
  std::size_t offset_bytes;  // of the first unit, from the beginning of the walk's array
  std::size_t stride_bytes;
};

namespace plan_detail {
const std::vector<Step>& steps_of(const Type& type);

// Fewer values are visited one by one.
inline constexpr std::uint64_t least_row_of_values = 4;

template <typename Visit>
bool walk_step(const Step& step, std::uint64_t first, std::uint64_t end, std::uint64_t base_unit,
               std::size_t base_bytes, Visit& visit) {
  if (step.kind != UnitKind::repeat) {
    const std::uint64_t skipped = first - step.first_unit;
    return visit(UnitRow{
        step.kind, step.number_bytes, step.type, base_unit + first, end - first,
        base_bytes + step.offset_bytes + static_cast<std::size_t>(skipped) * step.stride_bytes,
        step.stride_bytes});
  }
  const std::vector<Step>& inner = steps_of(*step.type);
  bool takes_values = false;
  if constexpr (requires { visit.takes_values_of(*step.type); }) {
    takes_values =
        end - first >= least_row_of_values * step.units_each && visit.takes_values_of(*step.type);
  }
  std::uint64_t index = (first - step.first_unit) / step.units_each;
  for (; first < end; ++index) {
    const std::uint64_t value_unit = step.first_unit + index * step.units_each;
    const std::uint64_t from = first - value_unit;
    const std::uint64_t to = std::min(end - value_unit, step.units_each);
    const std::size_t value_bytes =
        base_bytes + step.offset_bytes + static_cast<std::size_t>(index) * step.stride_bytes;
    const std::uint64_t whole =
        takes_values && from == 0 ? (end - value_unit) / step.units_each : 0;
    if (whole >= least_row_of_values) {
      if (!visit(UnitRow{UnitKind::repeat, 0, step.type, base_unit + value_unit, whole, value_bytes,
                         step.stride_bytes})) {
        return false;
      }
      index += whole - 1;
      first = value_unit + whole * step.units_each;
      continue;
    }
    auto at = from == 0 ? inner.begin()
                        : std::upper_bound(inner.begin(), inner.end(), from,
                                           [](std::uint64_t unit, const Step& other) {
                                             return unit < other.first_unit;
                                           }) -
                              1;
    for (; at != inner.end() && at->first_unit < to; ++at) {
      if (!walk_step(*at, std::max(from, at->first_unit), std::min(to, at->end_unit()),
                     base_unit + value_unit, value_bytes, visit)) {
        return false;
      }
    }
    first = value_unit + to;
  }
  return true;
}
}  // namespace plan_detail

// Calls visit(UnitRow) for the units [first, end) of an array step, in order, until visit returns
// false. Returns whether all calls returned true. REQUIRES: the caller has checked the bounds. If
// the visitor has a function takes_values_of(type) and it returns true, the visitor gets rows of
// whole values of that type.
template <typename Visit>
bool for_each_row(const Step& array, std::uint64_t first, std::uint64_t end, Visit&& visit) {
  return first >= end || plan_detail::walk_step(array, first, end, 0, 0, visit);
}

}  // namespace iw::types
