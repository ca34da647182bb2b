#include "types/navigation.h"

#include <algorithm>

namespace iw::types {

namespace {

// `byte` lies in the step or in the padding behind it; units count from where `base` is.
UnitAt in_step(const Step& step, std::size_t byte, std::uint64_t base);

UnitAt in_value(const Type& type, std::size_t byte, std::uint64_t base) {
  const Step* const step = type.plan.step_before_byte(byte);
  if (step == nullptr) return {base, false, true};
  return in_step(*step, byte, base);
}

UnitAt in_step(const Step& step, std::size_t byte, std::uint64_t base) {
  if (byte >= step.end_bytes()) return {base + step.end_unit(), false, true};
  const std::size_t inside = byte - step.offset_bytes;
  const std::uint64_t index = inside / step.stride_bytes;
  const std::size_t rest = inside % step.stride_bytes;
  const std::uint64_t unit = base + step.first_unit + index * step.units_each;
  if (step.kind == UnitKind::repeat) return in_value(*step.type, rest, unit);
  return {unit, rest == 0, false};
}

}  // namespace

namespace {

UnitAt in_array(const Step& array, std::size_t byte) {
  if (byte >= array.end_bytes()) return {array.end_unit(), byte == array.end_bytes(), false};
  return in_step(array, byte, 0);
}

}  // namespace

UnitAt unit_of_byte(const Type& type, std::uint64_t count, std::size_t byte) {
  return in_array(array_step(type, count), byte);
}

std::size_t byte_of_unit(const Type& type, std::uint64_t count, std::uint64_t unit) {
  Step step = array_step(type, count);
  if (unit >= step.end_unit()) return step.end_bytes();
  std::size_t byte = 0;
  while (true) {
    const std::uint64_t index = (unit - step.first_unit) / step.units_each;
    byte += step.offset_bytes + static_cast<std::size_t>(index) * step.stride_bytes;
    if (step.kind != UnitKind::repeat) return byte;
    unit -= step.first_unit + index * step.units_each;
    step = step.type->plan.step_of_unit(unit);
  }
}

UnitRange units_covering(const Step& array, std::size_t begin_byte, std::size_t end_byte) {
  if (begin_byte >= end_byte) return {};
  const UnitAt first = in_array(array, begin_byte);
  const UnitAt last = in_array(array, end_byte - 1);
  return {first.unit, last.in_padding ? last.unit : last.unit + 1};
}

UnitRange units_covering(const Type& type, std::uint64_t count, std::size_t begin_byte,
                         std::size_t end_byte) {
  return units_covering(array_step(type, count), begin_byte, end_byte);
}

}  // namespace iw::types
