#include "types/construction.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "interweave/type_table.h"
#include "protocol/descriptor.gen.h"

namespace iw::types {

namespace {

constexpr std::size_t kPointerAlign = IW_ALIGN_OF(pointer);

bool name_fits(std::string_view name) {
  return name.size() <= protocol::MAX_TYPE_NAME &&
         xdr::is_utf8(reinterpret_cast<const std::uint8_t*>(name.data()), name.size());
}

template <typename Named>
bool names_differ(const std::vector<Named>& named) {
  std::vector<std::string_view> names;
  for (const Named& one : named) {
    if (!one.name.empty()) names.push_back(one.name);
  }
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) == names.end();
}

template <typename Named>
bool names_fit(const std::vector<Named>& named) {
  return std::all_of(named.begin(), named.end(),
                     [](const Named& one) { return name_fits(one.name); });
}

// Adds what a part occupies; false beyond the bounds. Both factors are below 2^40 and 2^32.
bool embed(Type& whole, const Type& part, std::uint64_t count) {
  if (count > kMaxUnits / part.units || count > kMaxUnits / part.slot_bytes) return false;
  whole.units += part.units * count;
  whole.slot_bytes += part.slot_bytes * count;
  whole.contains_pointers = whole.contains_pointers || part.contains_pointers;
  whole.depth = std::max(whole.depth, part.depth + 1);
  return whole.units <= kMaxUnits && whole.slot_bytes <= kMaxUnits;
}

constexpr const char* kTooLarge = "it has more than 2^40 units or wire bytes";

std::string finish_record(Type& type) {
  if (type.fields.empty() || type.fields.size() > protocol::MAX_FIELDS) {
    return "a record has 1 to 4,096 fields";
  }
  if (!names_fit(type.fields) || !names_differ(type.fields)) {
    return "a field's name is too long, not UTF-8 or occurs twice";
  }
  for (Field& field : type.fields) {
    field.first_unit = type.units;
    field.slot_offset_bytes = type.slot_bytes;
    if (!embed(type, *field.type, 1)) return kTooLarge;
  }
  return {};
}

bool may_discriminate(const Type& type) {
  return type.kind == Kind::enumeration || type.primitive == Primitive::int32 ||
         type.primitive == Primitive::uint32 || type.primitive == Primitive::boolean;
}

std::string finish_choice(Type& type) {
  const std::size_t plain_arms = type.arms.size() - (type.has_default ? 1 : 0);
  if (plain_arms == 0 || plain_arms > protocol::MAX_FIELDS) {
    return "a union has 1 to 4,096 arms";
  }
  if (!may_discriminate(*type.discriminant)) {
    return "a union's discriminant is an int, uint, bool or enum";
  }
  if (!name_fits(type.discriminant_name) || !names_fit(type.arms) || !names_differ(type.arms)) {
    return "an arm's name is too long, not UTF-8 or occurs twice";
  }
  std::uint64_t largest = 0;
  for (std::uint32_t i = 0; i < type.arms.size(); ++i) {
    const Arm& arm = type.arms[i];
    const bool is_default = type.has_default && i + 1 == type.arms.size();
    if (is_default && !arm.values.empty()) return "the default arm has case values";
    for (const std::int32_t value : arm.values) type.sorted_cases.emplace_back(value, i);
    if (arm.type == nullptr) continue;
    largest = std::max(largest, arm.type->slot_bytes);
    type.contains_pointers = type.contains_pointers || arm.type->contains_pointers;
    type.depth = std::max(type.depth, arm.type->depth + 1);
  }
  std::sort(type.sorted_cases.begin(), type.sorted_cases.end());
  if (std::adjacent_find(type.sorted_cases.begin(), type.sorted_cases.end(),
                         [](const auto& a, const auto& b) { return a.first == b.first; }) !=
      type.sorted_cases.end()) {
    return "a case value occurs twice";
  }
  type.units = 1;
  type.slot_bytes = 4 + largest;
  type.depth = std::max<std::uint32_t>(type.depth, 1);
  return type.slot_bytes <= kMaxUnits ? "" : kTooLarge;
}

std::string finish_enumeration(Type& type) {
  if (type.members.size() > protocol::MAX_ENUM_MEMBERS) {
    return "an enum has at most 4,096 members";
  }
  if (!names_fit(type.members) || !names_differ(type.members)) {
    return "an enum member's name is too long, not UTF-8 or occurs twice";
  }
  for (const Member& member : type.members) type.sorted_values.push_back(member.value);
  std::sort(type.sorted_values.begin(), type.sorted_values.end());
  type.units = 1;
  type.slot_bytes = 4;
  return {};
}

}  // namespace

std::string finish_structure(Type& type) {
  if (!name_fits(type.name)) return "its name is longer than 255 bytes or not UTF-8";
  std::string why;
  switch (type.kind) {
    case Kind::primitive:
      return "it is a primitive";
    case Kind::enumeration:
      why = finish_enumeration(type);
      break;
    case Kind::string:
      if (type.count == 0 || type.count > protocol::MAX_STRING_BOUND) {
        return "a string's bound is 1 to 4,096";
      }
      type.units = 1;
      type.slot_bytes = type.count;
      break;
    case Kind::array:
      if (type.count == 0 || type.count > UINT32_MAX) return "an array has 1 to 2^32-1 elements";
      if (!embed(type, *type.element, type.count)) return kTooLarge;
      break;
    case Kind::record:
      why = finish_record(type);
      break;
    case Kind::choice:
      why = finish_choice(type);
      break;
    case Kind::pointer:
    case Kind::sequence:
    case Kind::text:
      if (type.count > UINT32_MAX) return "a bound is below 2^32";
      type.units = 1;
      type.slot_bytes = 16;
      type.contains_pointers = true;
      break;
  }
  if (why.empty() && type.depth > kMaxDepth) why = "it is embedded more than 64 deep";
  return why;
}

namespace {

// Rounds up; the sums below stay under 2^41 * 4,096 bytes, so 64 bits hold them.
std::uint64_t aligned(std::uint64_t bytes, std::uint64_t align_bytes) {
  return (bytes + align_bytes - 1) / align_bytes * align_bytes;
}

bool set_size(Type& type, std::uint64_t size_bytes) {
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max());
  if (size_bytes > std::min<std::uint64_t>(kLargest, 16 * kMaxUnits)) return false;
  type.size_bytes = static_cast<std::size_t>(size_bytes);
  return true;
}

bool lay_out_record(Type& type) {
  std::uint64_t at = 0;
  for (Field& field : type.fields) {
    at = aligned(at, field.type->align_bytes);
    field.offset_bytes = static_cast<std::size_t>(at);
    at += field.type->size_bytes;
    type.align_bytes = std::max(type.align_bytes, field.type->align_bytes);
  }
  return set_size(type, aligned(at, type.align_bytes));
}

// struct { discriminant; union { arms } u; }
bool lay_out_choice(Type& type) {
  std::uint64_t largest = 0;
  std::size_t arms_align = 1;
  for (const Arm& arm : type.arms) {
    if (arm.type == nullptr) continue;
    largest = std::max<std::uint64_t>(largest, arm.type->size_bytes);
    arms_align = std::max(arms_align, arm.type->align_bytes);
  }
  const std::uint64_t start = aligned(type.discriminant->size_bytes, arms_align);
  for (Arm& arm : type.arms) {
    if (arm.type != nullptr) arm.offset_bytes = static_cast<std::size_t>(start);
  }
  type.align_bytes = std::max(arms_align, type.discriminant->align_bytes);
  return set_size(type, aligned(start + aligned(largest, arms_align), type.align_bytes));
}

}  // namespace

bool lay_out(Type& type) {
  switch (type.kind) {
    case Kind::primitive:
      return true;
    case Kind::enumeration:
      type.align_bytes = IW_ALIGN_OF(int);
      return set_size(type, sizeof(int));
    case Kind::string:
      type.align_bytes = 1;
      return set_size(type, type.count + 1);
    case Kind::array:
      type.align_bytes = type.element->align_bytes;
      // Both factors are bounded so that the product fits in 64 bits, save for absurd sizes.
      if (type.element->size_bytes > (16 * kMaxUnits) / type.count) return false;
      return set_size(type, std::uint64_t{type.element->size_bytes} * type.count);
    case Kind::record:
      return lay_out_record(type);
    case Kind::choice:
      return lay_out_choice(type);
    case Kind::sequence:
      type.align_bytes = IW_ALIGN_OF(sequence);
      return set_size(type, sizeof(NativeSequence));
    case Kind::pointer:
    case Kind::text:
      type.align_bytes = kPointerAlign;
      return set_size(type, sizeof(void*));
  }
  return false;
}

namespace {

bool fits_at(const Type& whole, std::size_t offset_bytes, const Type& part) {
  return offset_bytes % part.align_bytes == 0 && whole.align_bytes % part.align_bytes == 0 &&
         offset_bytes <= whole.size_bytes && part.size_bytes <= whole.size_bytes - offset_bytes;
}

std::string check_record(const Type& type) {
  std::size_t end = 0;
  for (const Field& field : type.fields) {
    if (field.offset_bytes < end || !fits_at(type, field.offset_bytes, *field.type)) {
      return "field " + field.name + " does not lie in it as a C compiler places it";
    }
    end = field.offset_bytes + field.type->size_bytes;
  }
  return type.fields[0].offset_bytes == 0 ? "" : "its first field is not at its beginning";
}

}  // namespace

std::string check_layout(const Type& type) {
  const std::size_t align = type.align_bytes;
  if (align == 0 || (align & (align - 1)) != 0 || type.size_bytes == 0 ||
      type.size_bytes % align != 0) {
    return "its size or alignment cannot be those of a C type";
  }
  if (type.kind == Kind::record) return check_record(type);
  if (type.kind == Kind::choice) {
    for (const Arm& arm : type.arms) {
      if (arm.type == nullptr) continue;
      if (arm.offset_bytes < type.discriminant->size_bytes ||
          !fits_at(type, arm.offset_bytes, *arm.type)) {
        return "arm " + arm.name + " does not lie in it as a C compiler places it";
      }
    }
    return fits_at(type, 0, *type.discriminant) ? "" : "its discriminant does not fit";
  }
  // Everything else has one layout only.
  Type expected = type;
  if (!lay_out(expected) || expected.size_bytes != type.size_bytes ||
      expected.align_bytes != align) {
    return "its size is not the one that this library was built with";
  }
  return {};
}

}  // namespace iw::types
