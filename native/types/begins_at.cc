#include <algorithm>

#include "types/navigation.h"

namespace iw::types {

bool begins_at_unit(const Type& type, std::uint64_t count, std::uint64_t unit, const Type& wanted) {
  const Type* at = &type;
  if (unit >= count * type.units) {
    // One past the end: where one more value would be, or a part that begins a value.
    if (unit > count * type.units) return false;
    unit = 0;
  } else {
    unit %= type.units;
  }
  // From outside in, at most kMaxDepth steps.
  while (true) {
    if (unit == 0 && same_type(*at, wanted)) return true;
    if (at->kind == Kind::array) {
      at = at->element;
      unit %= at->units;
    } else if (at->kind == Kind::record) {
      const auto after = std::upper_bound(
          at->fields.begin(), at->fields.end(), unit,
          [](std::uint64_t value, const Field& field) { return value < field.first_unit; });
      const Field& field = *(after - 1);
      unit -= field.first_unit;
      at = field.type;
    } else {
      return false;
    }
  }
}

}  // namespace iw::types
