#include "diff/unit_writer.h"

#include <cstring>
#include <string>

#include "diff/format.h"
#include "memory/address_map.h"
#include "platform/byte_order.h"

namespace iw::diff {

using types::NativeSequence;
using types::Primitive;
using types::Type;
using types::UnitKind;
using types::UnitRow;

namespace {

// Shorter runs are cheaper to copy than to send as a slice of their own.
constexpr std::size_t kLeastViewBytes = 4096;

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

bool UnitWriter::bad_value(const Type& type, const char* why) {
  error_ = {types::error_code::BAD_VALUE, "a " + type.spelled() + " " + why};
  return false;
}

void UnitWriter::numbers(const UnitRow& row, const std::byte* from) {
  const std::size_t bytes = static_cast<std::size_t>(row.count) * row.number_bytes;
  if (!platform::is_little_endian && row.number_bytes > 1) {
    platform::copy_little_endian(out_.extend(bytes), from, row.number_bytes,
                                 static_cast<std::size_t>(row.count));
  } else if (may_send_views_ && bytes >= kLeastViewBytes) {
    out_.append_view(from, bytes);
  } else {
    out_.append(from, bytes);
  }
}

// Zero is the value of memory that was never written, and no mistake [WIRE-4].
bool UnitWriter::word(const UnitRow& row, const std::byte* from) {
  const auto value = load<std::uint32_t>(from);
  if (row.kind == UnitKind::boolean && value > 1) {
    return bad_value(types::primitive_type(Primitive::boolean), "is neither 0 nor 1");
  }
  if (row.kind == UnitKind::enumeration && value != 0 &&
      !row.type->has_member(static_cast<std::int32_t>(value))) {
    return bad_value(*row.type, "has a value that is no member");
  }
  std::byte bytes[4];
  platform::store_little_endian(bytes, value);
  out_.append(bytes, sizeof bytes);
  return true;
}

bool UnitWriter::string(const Type& type, const std::byte* from) {
  const auto bound = static_cast<std::size_t>(type.count);
  const void* const nul = std::memchr(from, 0, bound + 1);
  if (nul == nullptr) return bad_value(type, "has no NUL within its bound");
  const auto length = static_cast<std::size_t>(static_cast<const std::byte*>(nul) - from);
  if (bound > kWholeStringBound) {
    std::byte bytes[2];
    platform::store_little_endian(bytes, static_cast<std::uint16_t>(length));
    out_.append(bytes, sizeof bytes);
    out_.append(from, length);
    return true;
  }
  // What lies behind the NUL is old memory, and stays here.
  std::byte slot[kWholeStringBound] = {};
  std::memcpy(slot, from, length);
  out_.append(slot, bound);
  return true;
}

bool UnitWriter::choice(const Type& type, const std::byte* from) {
  const auto value = load<std::int32_t>(from);
  const Type& discriminant = *type.discriminant;
  const types::Arm* const arm = type.arm_for(value);
  const bool is_value =
      value == 0 || (discriminant.kind == types::Kind::enumeration
                         ? discriminant.has_member(value)
                         : discriminant.primitive != Primitive::boolean || value == 1);
  if (!is_value || (arm == nullptr && value != 0)) {
    return bad_value(type, "has a discriminant that selects nothing");
  }
  std::byte bytes[4];
  platform::store_little_endian(bytes, static_cast<std::uint32_t>(value));
  out_.append(bytes, sizeof bytes);
  if (arm == nullptr || arm->type == nullptr) return true;
  const types::Step whole = types::array_step(*arm->type, 1);
  return write(whole, 0, whole.end_unit(), from + arm->offset_bytes);
}

// A text ends with its first NUL, which may come before its block's end.
bool UnitWriter::text(const char* text, swizzle::WirePointer& wire) {
  error_ = swizzler_.owned_to_wire(text, types::primitive_type(Primitive::character),
                                   swizzle::Swizzler::any_count, wire);
  if (!error_.ok() || text == nullptr) return error_.ok();
  memory::FoundBlock found;
  if (memory::find_block(text, found) && std::memchr(text, 0, found.block.size_bytes) == nullptr) {
    return bad_value(types::primitive_type(Primitive::character),
                     "text has no NUL within its block");
  }
  return true;
}

bool UnitWriter::pointer(const UnitRow& row, const std::byte* from) {
  swizzle::WirePointer wire;
  if (row.kind == UnitKind::pointer) {
    error_ = swizzler_.to_wire(load<const void*>(from), row.type->target, wire);
  } else if (row.kind == UnitKind::text) {
    if (!text(load<const char*>(from), wire)) return false;
  } else {
    const auto length = load<unsigned int>(from + offsetof(NativeSequence, length));
    const auto* const elements = load<const void*>(from + offsetof(NativeSequence, elements));
    error_ = swizzler_.owned_to_wire(elements, *row.type->element, length, wire);
  }
  if (!error_.ok()) return false;
  swizzle::store_wire_pointer(wire, out_.extend(swizzle::kWirePointerBytes));
  return true;
}

bool UnitWriter::row(const UnitRow& row, const std::byte* from) {
  if (row.kind == UnitKind::number) {
    numbers(row, from);
    return true;
  }
  for (std::uint64_t i = 0; i < row.count; ++i, from += row.stride_bytes) {
    bool ok = false;
    if (row.kind == UnitKind::boolean || row.kind == UnitKind::enumeration) {
      ok = word(row, from);
    } else if (row.kind == UnitKind::string) {
      ok = string(*row.type, from);
    } else if (row.kind == UnitKind::choice) {
      ok = choice(*row.type, from);
    } else {
      ok = pointer(row, from);
    }
    if (!ok) {
      bad_unit_ = row.first_unit + i;
      return false;
    }
  }
  return true;
}

bool UnitWriter::write(const types::Step& array, std::uint64_t first, std::uint64_t end,
                       const std::byte* base) {
  return types::for_each_row(array, first, end,
                             [&](const UnitRow& one) { return row(one, base + one.offset_bytes); });
}

}  // namespace iw::diff
