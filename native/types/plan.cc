#include "types/plan.h"

#include <atomic>
#include <utility>

#include "types/construction.h"
#include "types/type.h"

namespace iw::types {

namespace {
std::atomic<bool> merging{true};
}  // namespace

void set_merging_of_plans(bool is_on) { merging.store(is_on, std::memory_order_relaxed); }

namespace plan_detail {
const std::vector<Step>& steps_of(const Type& type) { return type.plan.steps; }
}  // namespace plan_detail

const Step& Plan::step_of_unit(std::uint64_t unit) const {
  return *(
      std::upper_bound(steps.begin(), steps.end(), unit,
                       [](std::uint64_t at, const Step& step) { return at < step.first_unit; }) -
      1);
}

const Step* Plan::step_before_byte(std::size_t offset_bytes) const {
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), offset_bytes,
                       [](std::size_t at, const Step& step) { return at < step.offset_bytes; });
  return after == steps.begin() ? nullptr : &*(after - 1);
}

namespace {

// A plan of up to this many steps is always written out in place; a longer one only while the
// whole stays short. Plans therefore grow with a type's fields, not with its units.
constexpr std::size_t kAlwaysInline = 4;
constexpr std::size_t kShortPlan = 64;

UnitKind unit_kind(const Type& type) {
  switch (type.kind) {
    case Kind::primitive:
      return type.primitive == Primitive::boolean ? UnitKind::boolean : UnitKind::number;
    case Kind::enumeration:
      return UnitKind::enumeration;
    case Kind::string:
      return UnitKind::string;
    case Kind::choice:
      return UnitKind::choice;
    case Kind::pointer:
      return UnitKind::pointer;
    case Kind::sequence:
      return UnitKind::sequence;
    case Kind::text:
      return UnitKind::text;
    case Kind::array:
    case Kind::record:
      break;
  }
  return UnitKind::repeat;
}

Step unit_step(const Type& type) {
  Step step;
  step.kind = unit_kind(type);
  if (step.kind == UnitKind::number) {
    step.number_bytes = static_cast<std::uint8_t>(type.size_bytes);
  } else if (step.kind != UnitKind::boolean) {
    step.type = &type;
  }
  step.count = 1;
  step.stride_bytes = type.size_bytes;
  step.slot_bytes_each = type.slot_bytes;
  return step;
}

void append(std::vector<Step>& steps, const Step& next) {
  if (!steps.empty() && merging.load(std::memory_order_relaxed)) {
    Step& last = steps.back();
    if (last.kind == next.kind && last.number_bytes == next.number_bytes &&
        last.type == next.type && last.stride_bytes == next.stride_bytes &&
        last.end_bytes() == next.offset_bytes) {
      last.count += next.count;
      return;
    }
  }
  steps.push_back(next);
}

// `count` values of `type`, the first of them where `at` begins.
void append_values(std::vector<Step>& steps, const Type& type, std::uint64_t count,
                   const Step& at) {
  Step row = array_step(type, count);
  const std::vector<Step>& inner = type.plan.steps;
  const bool in_place =
      row.kind == UnitKind::repeat && count == 1 &&
      (inner.size() <= kAlwaysInline || steps.size() + inner.size() <= kShortPlan);
  const auto shifted = [&](Step step) {
    step.first_unit += at.first_unit;
    step.offset_bytes += at.offset_bytes;
    step.slot_offset_bytes += at.slot_offset_bytes;
    return step;
  };
  if (!in_place) return append(steps, shifted(row));
  for (const Step& step : inner) append(steps, shifted(step));
}

}  // namespace

Step array_step(const Type& type, std::uint64_t count) {
  const std::vector<Step>& inner = type.plan.steps;
  const bool may_be_row = type.units == 1 || merging.load(std::memory_order_relaxed);
  if (may_be_row && inner.size() == 1 && inner[0].offset_bytes == 0 &&
      inner[0].end_bytes() == type.size_bytes) {
    Step row = inner[0];
    row.count *= count;
    return row;
  }
  Step repeat;
  repeat.kind = UnitKind::repeat;
  repeat.type = &type;
  repeat.count = count;
  repeat.units_each = type.units;
  repeat.stride_bytes = type.size_bytes;
  repeat.slot_bytes_each = type.slot_bytes;
  return repeat;
}

void compile_plan(Type& type) {
  std::vector<Step>& steps = type.plan.steps;
  steps.clear();
  if (type.kind == Kind::array) {
    append_values(steps, *type.element, type.count, Step{});
  } else if (type.kind == Kind::record) {
    for (const Field& field : type.fields) {
      Step at;
      at.first_unit = field.first_unit;
      at.offset_bytes = field.offset_bytes;
      at.slot_offset_bytes = field.slot_offset_bytes;
      append_values(steps, *field.type, 1, at);
    }
  } else {
    steps.push_back(unit_step(type));
  }
  steps.shrink_to_fit();
}

}  // namespace iw::types
