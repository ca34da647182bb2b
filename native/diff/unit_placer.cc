#include "diff/unit_placer.h"

#include <cstring>
#include <limits>

#include "diff/format.h"
#include "platform/byte_order.h"
#include "platform/invariant.h"

namespace iw::diff {

using platform::load_little_endian;
using types::NativeSequence;
using types::Type;
using types::UnitKind;
using types::UnitRow;

const std::byte* UnitPlacer::take(Reader& from, std::uint64_t count) {
  const std::byte* bytes = nullptr;
  IW_INVARIANT(from.take(count, bytes), "the first pass has read these bytes");
  return bytes;
}

void UnitPlacer::words(Reader& from, const UnitRow& row, std::byte* to) {
  const std::byte* const bytes = take(from, row.count * 4);
  platform::copy_little_endian(to, bytes, 4, static_cast<std::size_t>(row.count));
}

void UnitPlacer::string(Reader& from, const Type& type, std::byte* to) {
  const auto bound = static_cast<std::size_t>(type.count);
  std::size_t length = bound;
  if (bound > kWholeStringBound) length = load_little_endian<std::uint16_t>(take(from, 2));
  std::memcpy(to, take(from, length), length);
  std::memset(to + length, 0, bound + 1 - length);
}

bool UnitPlacer::choice(Reader& from, const Type& type, std::byte* to) {
  const auto value = static_cast<std::int32_t>(load_little_endian<std::uint32_t>(take(from, 4)));
  std::memset(to, 0, type.size_bytes);
  std::memcpy(to, &value, sizeof value);
  const types::Arm* const arm = type.arm_for(value);
  if (arm == nullptr || arm->type == nullptr) return true;
  const types::Step whole = types::array_step(*arm->type, 1);
  return place(from, whole, 0, whole.end_unit(), to + arm->offset_bytes, 0);
}

// A field whose block is not there, or not what it should be, is empty: the server does not look at
// what pointers lead to, and one writer's mistake must not keep everybody from reading.
void UnitPlacer::owned(const swizzle::WirePointer& wire, const UnitRow& row, std::byte* to) {
  const bool is_text = row.kind == UnitKind::text;
  const Type& element =
      is_text ? types::primitive_type(types::Primitive::character) : *row.type->element;
  void* address = nullptr;
  std::uint64_t count = 0;
  const Result found = swizzler_.owned_from_wire(wire, element, address, count);
  if (!found.ok() || count > std::numeric_limits<unsigned int>::max()) {
    address = nullptr;
    count = 0;
  }
  if (is_text) {
    std::memcpy(to, &address, sizeof address);
    return;
  }
  const auto length = static_cast<unsigned int>(count);
  std::memset(to, 0, sizeof(NativeSequence));
  std::memcpy(to + offsetof(NativeSequence, length), &length, sizeof length);
  std::memcpy(to + offsetof(NativeSequence, elements), &address, sizeof address);
}

bool UnitPlacer::pointer(Reader& from, const UnitRow& row, std::byte* to) {
  const swizzle::WirePointer wire =
      swizzle::load_wire_pointer(take(from, swizzle::kWirePointerBytes));
  if (row.kind != UnitKind::pointer) {
    owned(wire, row, to);
    return true;
  }
  void* address = nullptr;
  if (!wire.is_null()) error_ = swizzler_.from_wire(wire, row.type->target, address);
  std::memcpy(to, &address, sizeof address);
  return error_.ok();
}

bool UnitPlacer::row(Reader& from, const UnitRow& row, std::byte* to) {
  if (row.kind == UnitKind::number) {
    const std::byte* const bytes = take(from, row.count * row.number_bytes);
    platform::copy_little_endian(to, bytes, row.number_bytes, static_cast<std::size_t>(row.count));
    return true;
  }
  if (row.kind == UnitKind::boolean || row.kind == UnitKind::enumeration) {
    words(from, row, to);
    return true;
  }
  for (std::uint64_t i = 0; i < row.count; ++i, to += row.stride_bytes) {
    if (row.kind == UnitKind::string) {
      string(from, *row.type, to);
    } else if (row.kind == UnitKind::choice) {
      if (!choice(from, *row.type, to)) return false;
    } else if (!pointer(from, row, to)) {
      return false;
    }
  }
  return true;
}

bool UnitPlacer::place(Reader& from, const types::Step& array, std::uint64_t first,
                       std::uint64_t end, std::byte* to, std::size_t to_offset_bytes) {
  return types::for_each_row(array, first, end, [&](const UnitRow& one) {
    return row(from, one, to + (one.offset_bytes - to_offset_bytes));
  });
}

}  // namespace iw::diff
