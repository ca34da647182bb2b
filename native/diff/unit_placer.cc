#include "diff/unit_placer.h"

#include <array>
#include <cstring>
#include <limits>
#include <span>

#include "diff/format.h"
#include "diff/short_string.h"
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

void UnitPlacer::long_string(Reader& from, const Type& type, std::byte* to) {
  const std::size_t length = load_little_endian<std::uint16_t>(take(from, kStringLengthBytes));
  std::memcpy(to, take(from, length), length);
  to[length] = std::byte{0};
  if (length == type.count) return;
  std::memset(to + length, 0, static_cast<std::size_t>(type.count) + 1 - length);
}

void UnitPlacer::long_strings(Reader& from, const UnitRow& row, std::byte* to) {
  for (std::uint64_t i = 0; i < row.count; ++i, to += row.stride_bytes) {
    long_string(from, *row.type, to);
  }
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

// An owned field whose block is missing or of the wrong type is made empty. The server does not
// check what pointers lead to, and one writer's mistake must not keep everybody from reading.
void UnitPlacer::owned_pointer(const swizzle::WirePointer& wire, const LaneUnits& units,
                               std::byte* to) {
  const bool is_text = units.kind == UnitKind::text;
  const Type& element =
      is_text ? types::primitive_type(types::Primitive::character) : *units.type->element;
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

void UnitPlacer::owned(const LaneUnits& units, From from, To to, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    owned_pointer(pointer_of(load_words(from.at)), units, to.at);
    from.at += from.stride_bytes;
    to.at += to.stride_bytes;
  }
}

bool UnitPlacer::pointers(const LaneUnits& units, From from, To to, std::uint64_t count) {
  const Type* const target = units.type->target;
  BlockPrediction& prediction = predictions_.for_target(target);
  RowLength length;
  for (std::uint64_t left = count;;) {
    const std::uint64_t known = options_.predicts_blocks ? prediction.from_wire(from, to, left) : 0;
    left -= known;
    if (left == 0) return true;
    from = from.after(known);
    to = to.after(known);
    std::array<swizzle::WirePointer, swizzle::Swizzler::kMostTogether> wires;
    std::array<void*, swizzle::Swizzler::kMostTogether> addresses;
    const std::size_t together = length.next(known, left);
    for (std::size_t k = 0; k < together; ++k) {
      wires[k] = pointer_of(load_words(from.after(k).at));
    }
    std::size_t done = 0;
    error_ = swizzler_.from_wire(std::span(wires.data(), together), target, addresses.data(), done);
    if (!error_.ok()) return false;
    for (std::size_t k = 0; k < together; ++k) {
      prediction.learn(words_of(wires[k]), addresses[k]);
      std::memcpy(to.at, &addresses[k], sizeof addresses[k]);
      to = to.after(1);
    }
    from = from.after(together);
    left -= together;
    if (left == 0) return true;
  }
}

bool UnitPlacer::lane(const LaneUnits& units, From from, To to, std::uint64_t count) {
  switch (units.kind) {
    case UnitKind::number:
      copy_numbers(from, to, count, units.number_bytes, static_cast<std::size_t>(units.numbers));
      return true;
    case UnitKind::boolean:
    case UnitKind::enumeration:
      copy_numbers(from, to, count, 4, 1);
      return true;
    case UnitKind::string:
      place_short_strings(units.type->count, from, to, count);
      return true;
    case UnitKind::pointer:
      return pointers(units, from, to, count);
    default:
      owned(units, from, to, count);
      return true;
  }
}

bool UnitPlacer::records(Reader& from, const UnitRow& row, std::byte* to) {
  const std::size_t record_bytes = travelling_bytes_of_record(*row.type);
  if (record_bytes == 0) return records_with_strings(from, row, to);
  const std::byte* bytes = take(from, row.count * record_bytes);
  std::size_t done = 0;
  if (const platform::ByteMap map = map_of_record(*row.type); map.to_bytes != 0) {
    done = platform::map_rows(reversed(map), bytes, to, static_cast<std::size_t>(row.count));
    bytes += done * record_bytes;
    to += done * row.stride_bytes;
  }
  const UnitRow rest = records_after(row, done);
  return for_each_part_of_records(rest, [&](const UnitRow& part, std::size_t before) {
    std::byte* const part_to = to + (part.offset_bytes - rest.offset_bytes);
    return for_each_lane(part, [&](const LaneUnits& units, std::size_t here, std::size_t there) {
      return lane(units, {bytes + before + there, record_bytes}, {part_to + here, row.stride_bytes},
                  part.count);
    });
  });
}

void UnitPlacer::record(Reader& from, const RecordParts& parts, std::byte* fixed, std::byte* to) {
  for (const RecordPart& part : parts.parts()) {
    const std::size_t readable = from.remaining();
    const std::byte* const bytes = take(from, part.fixed_bytes);
    RecordBuffer::copy(fixed + part.fixed_offset, bytes, part.fixed_bytes, readable);
    std::byte* at = to + part.offset_bytes;
    for (std::uint64_t i = 0; i < part.strings; ++i, at += part.stride_bytes) {
      long_string(from, *part.string, at);
    }
  }
}

bool UnitPlacer::records_with_strings(Reader& from, const UnitRow& row, std::byte* to) {
  const RecordParts parts(*row.type);
  RecordBuffer buffer(parts);
  for (UnitRow rest = row; rest.count != 0;) {
    const UnitRow batch = parts.batch(rest);
    for (std::uint64_t i = 0; i < batch.count; ++i) {
      record(from, parts, buffer.record(i), to + static_cast<std::size_t>(i) * row.stride_bytes);
    }
    const bool is_placed = RecordParts::for_each_fixed_lane(
        batch, [&](const LaneUnits& units, std::size_t here, std::size_t there) {
          return lane(units, buffer.lane_of(there), {to + here, row.stride_bytes}, batch.count);
        });
    if (!is_placed) return false;
    to += static_cast<std::size_t>(batch.count) * row.stride_bytes;
    rest = records_after(rest, batch.count);
  }
  return true;
}

bool UnitPlacer::choices(Reader& from, const UnitRow& row, std::byte* to) {
  for (std::uint64_t i = 0; i < row.count; ++i, to += row.stride_bytes) {
    if (!choice(from, *row.type, to)) return false;
  }
  return true;
}

bool UnitPlacer::row(Reader& from, const UnitRow& row, std::byte* to) {
  if (row.kind == UnitKind::repeat) return records(from, row, to);
  if (row.kind == UnitKind::choice) return choices(from, row, to);
  const std::size_t each = travelling_bytes_each(row);
  if (each == 0) {
    long_strings(from, row, to);
    return true;
  }
  const std::byte* const bytes = take(from, row.count * each);
  return lane(lane_units(row), {bytes, each}, {to, row.stride_bytes}, row.count);
}

struct UnitPlacer::Visitor {
  static bool takes_values_of(const Type& type) { return is_plain_record(type); }
  bool operator()(const UnitRow& one) const {
    return placer.row(from, one, to + (one.offset_bytes - to_offset_bytes));
  }
  UnitPlacer& placer;
  Reader& from;
  std::byte* to;
  std::size_t to_offset_bytes;
};

bool UnitPlacer::place(Reader& from, const types::Step& array, std::uint64_t first,
                       std::uint64_t end, std::byte* to, std::size_t to_offset_bytes) {
  return types::for_each_row(array, first, end, Visitor{*this, from, to, to_offset_bytes});
}

}  // namespace iw::diff
