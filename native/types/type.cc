#include "types/type.h"

#include <algorithm>

namespace iw::types {

bool Type::has_member(std::int32_t value) const {
  return std::binary_search(sorted_values.begin(), sorted_values.end(), value);
}

const Arm* Type::arm_for(std::int32_t discriminant_value) const {
  const auto found =
      std::lower_bound(sorted_cases.begin(), sorted_cases.end(), discriminant_value,
                       [](const auto& entry, std::int32_t value) { return entry.first < value; });
  if (found != sorted_cases.end() && found->first == discriminant_value) {
    return &arms[found->second];
  }
  return has_default ? &arms.back() : nullptr;
}

bool Type::select_arm(std::int32_t discriminant_value, const Arm*& arm) const {
  arm = arm_for(discriminant_value);
  if (discriminant_value == 0) return true;
  const bool is_value =
      discriminant->kind == Kind::enumeration
          ? discriminant->has_member(discriminant_value)
          : discriminant->primitive != Primitive::boolean || discriminant_value == 1;
  return is_value && arm != nullptr;
}

namespace {

std::string spelled_to(const Type& type, int levels) {
  if (!type.name.empty()) return type.name;
  if (levels == 0) return "...";
  const auto of = [&](const Type* other) { return spelled_to(*other, levels - 1); };
  switch (type.kind) {
    case Kind::array:
      return of(type.element) + "[" + std::to_string(type.count) + "]";
    case Kind::pointer:
      return (type.target == nullptr ? std::string("void") : of(type.target)) + " *";
    case Kind::sequence:
      return of(type.element) + "<" + (type.count == 0 ? "" : std::to_string(type.count)) + ">";
    case Kind::string:
    case Kind::text:
      return "string<" + (type.count == 0 ? "" : std::to_string(type.count)) + ">";
    case Kind::enumeration:
      return "an unnamed enum";
    case Kind::choice:
      return "an unnamed union";
    case Kind::record:
    case Kind::primitive:
      break;
  }
  return "an unnamed struct";
}

}  // namespace

std::string Type::spelled() const { return spelled_to(*this, 8); }

bool same_layout(const Type& a, const Type& b) {
  if (&a == &b) return true;
  if (!same_type(a, b) || a.kind != b.kind || a.size_bytes != b.size_bytes ||
      a.align_bytes != b.align_bytes || a.units != b.units || a.slot_bytes != b.slot_bytes) {
    return false;
  }
  if (a.kind == Kind::array) return a.count == b.count && same_layout(*a.element, *b.element);
  const auto same_field = [](const Field& x, const Field& y) {
    return x.offset_bytes == y.offset_bytes && same_layout(*x.type, *y.type);
  };
  const auto same_arm = [](const Arm& x, const Arm& y) {
    if (x.type == nullptr || y.type == nullptr) return x.type == y.type;
    return x.offset_bytes == y.offset_bytes && same_layout(*x.type, *y.type);
  };
  return std::equal(a.fields.begin(), a.fields.end(), b.fields.begin(), b.fields.end(),
                    same_field) &&
         std::equal(a.arms.begin(), a.arms.end(), b.arms.begin(), b.arms.end(), same_arm);
}

}  // namespace iw::types
