#include "diff/unit_checker.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "diff/format.h"
#include "platform/byte_order.h"

namespace iw::diff {

using platform::load_little_endian;
using types::error_code;
using types::Primitive;
using types::Type;
using types::UnitKind;
using types::UnitRow;

bool UnitChecker::truncated() {
  error_ = Result::malformed("a diff's run has fewer bytes than its units take");
  return false;
}

bool UnitChecker::refuse(error_code code, const Type* type, const char* why) {
  error_ = {code,
            "a diff holds a " + (type == nullptr ? "bool" : type->spelled()) + " that " + why};
  return false;
}

bool UnitChecker::words(Reader& from, const UnitRow& row) {
  const std::byte* bytes = nullptr;
  if (!from.take(row.count * 4, bytes)) return truncated();
  for (std::uint64_t i = 0; i < row.count; ++i, bytes += 4) {
    const auto value = load_little_endian<std::uint32_t>(bytes);
    if (row.kind == UnitKind::boolean
            ? value > 1
            : value != 0 && !row.type->has_member(static_cast<std::int32_t>(value))) {
      return refuse(error_code::BAD_VALUE, row.type, "is none of the type's values");
    }
  }
  return true;
}

bool UnitChecker::string(Reader& from, const Type& type) {
  const std::byte* bytes = nullptr;
  if (type.count > kWholeStringBound) {
    if (!from.take(2, bytes)) return truncated();
    const auto length = load_little_endian<std::uint16_t>(bytes);
    if (length > type.count) return refuse(error_code::BAD_VALUE, &type, "is beyond its bound");
    if (!from.take(length, bytes)) return truncated();
    if (length != 0 && std::memchr(bytes, 0, length) != nullptr) {
      return refuse(error_code::BAD_VALUE, &type, "has a NUL inside");
    }
    return true;
  }
  if (!from.take(type.count, bytes)) return truncated();
  const std::byte* const end = bytes + type.count;
  const std::byte* const nul = std::find(bytes, end, std::byte{0});
  if (std::any_of(nul, end, [](std::byte byte) { return byte != std::byte{0}; })) {
    return refuse(error_code::BAD_VALUE, &type, "has bytes behind its NUL");
  }
  return true;
}

bool UnitChecker::choice(Reader& from, const Type& type) {
  const std::byte* bytes = nullptr;
  if (!from.take(4, bytes)) return truncated();
  const auto value = static_cast<std::int32_t>(load_little_endian<std::uint32_t>(bytes));
  const Type& discriminant = *type.discriminant;
  const types::Arm* const arm = type.arm_for(value);
  const bool is_value =
      value == 0 || (discriminant.kind == types::Kind::enumeration
                         ? discriminant.has_member(value)
                         : discriminant.primitive != Primitive::boolean || value == 1);
  if (!is_value || (arm == nullptr && value != 0)) {
    return refuse(error_code::BAD_VALUE, &type, "has a discriminant that selects nothing");
  }
  if (arm == nullptr || arm->type == nullptr) return true;
  const types::Step whole = types::array_step(*arm->type, 1);
  return check(from, whole, 0, whole.end_unit());
}

bool UnitChecker::pointer(Reader& from, const UnitRow& row) {
  const std::byte* bytes = nullptr;
  if (!from.take(swizzle::kWirePointerBytes, bytes)) return truncated();
  const swizzle::WirePointer wire = swizzle::load_wire_pointer(bytes);
  if (wire.is_null()) return true;
  if (wire.serial == 0 || wire.slot > slot_count_) {
    return refuse(error_code::BAD_POINTER, row.type, "leads to no block of a known segment");
  }
  if (row.kind == UnitKind::pointer) {
    if (wire.slot != 0) foreign_.push_back(wire);
    return true;
  }
  if (wire.slot != 0 || wire.unit != 0) {
    return refuse(error_code::BAD_POINTER, row.type, "is not in a block of its own");
  }
  owned_.push_back(wire.serial);
  return true;
}

bool UnitChecker::row(Reader& from, const UnitRow& row) {
  const std::byte* skipped = nullptr;
  switch (row.kind) {
    case UnitKind::number:
      return from.take(row.count * row.number_bytes, skipped) || truncated();
    case UnitKind::boolean:
    case UnitKind::enumeration:
      return words(from, row);
    default:
      break;
  }
  // Each takes at least a byte, so that the bytes received bound the loop.
  for (std::uint64_t i = 0; i < row.count; ++i) {
    const bool ok = row.kind == UnitKind::string   ? string(from, *row.type)
                    : row.kind == UnitKind::choice ? choice(from, *row.type)
                                                   : pointer(from, row);
    if (!ok) return false;
  }
  return true;
}

bool UnitChecker::check(Reader& from, const types::Step& array, std::uint64_t first,
                        std::uint64_t end) {
  return types::for_each_row(array, first, end, [&](const UnitRow& one) { return row(from, one); });
}

}  // namespace iw::diff
