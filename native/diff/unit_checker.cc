#include "diff/unit_checker.h"

#include <cstring>
#include <string>

#include "diff/block_prediction.h"
#include "diff/format.h"
#include "diff/short_string.h"
#include "platform/byte_order.h"
#include "platform/vector_rows.h"

namespace iw::diff {

using platform::load_little_endian;
using types::error_code;
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

bool UnitChecker::words(const LaneUnits& units, From from, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i, from.at += from.stride_bytes) {
    const auto value = load_little_endian<std::uint32_t>(from.at);
    if (units.kind == UnitKind::boolean
            ? value > 1
            : value != 0 && !units.type->has_member(static_cast<std::int32_t>(value))) {
      return refuse(error_code::BAD_VALUE, units.type, "is not one of the type's values");
    }
  }
  return true;
}

bool UnitChecker::short_strings(const LaneUnits& units, From from, std::uint64_t count) {
  return check_short_strings(units.type->count, from, count) ||
         refuse(error_code::BAD_VALUE, units.type, "has bytes behind its NUL");
}

bool UnitChecker::long_string(Reader& from, const Type& type) {
  const std::byte* bytes = nullptr;
  if (!from.take(kStringLengthBytes, bytes)) return truncated();
  const auto length = load_little_endian<std::uint16_t>(bytes);
  if (length > type.count) return refuse(error_code::BAD_VALUE, &type, "is beyond its bound");
  if (!from.take(length, bytes)) return truncated();
  if (length != 0 && std::memchr(bytes, 0, length) != nullptr) {
    return refuse(error_code::BAD_VALUE, &type, "has a NUL inside");
  }
  return true;
}

// Each takes at least two bytes, so that the bytes received bound the loop.
bool UnitChecker::long_strings(Reader& from, const Type& type, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!long_string(from, type)) return false;
  }
  return true;
}

bool UnitChecker::choice(Reader& from, const Type& type) {
  const std::byte* bytes = nullptr;
  if (!from.take(4, bytes)) return truncated();
  const auto value = static_cast<std::int32_t>(load_little_endian<std::uint32_t>(bytes));
  const types::Arm* arm = nullptr;
  if (!type.select_arm(value, arm)) {
    return refuse(error_code::BAD_VALUE, &type, "has a discriminant that selects nothing");
  }
  if (arm == nullptr || arm->type == nullptr) return true;
  const types::Step whole = types::array_step(*arm->type, 1);
  return check(from, whole, 0, whole.end_unit());
}

bool UnitChecker::pointer(const LaneUnits& units, const swizzle::WirePointer& wire) {
  if (wire.is_null()) return true;
  if (wire.serial == 0 || wire.slot > slot_count_) {
    return refuse(error_code::BAD_POINTER, units.type, "leads to no block of a known segment");
  }
  if (units.kind == UnitKind::pointer) {
    if (wire.slot != 0) foreign_.push_back(wire);
    return true;
  }
  if (wire.slot != 0 || wire.unit != 0) {
    return refuse(error_code::BAD_POINTER, units.type, "is not in a block of its own");
  }
  owned_.push_back(wire.serial);
  return true;
}

bool UnitChecker::pointers(const LaneUnits& units, From from, std::uint64_t count) {
  const bool is_pointer = units.kind == UnitKind::pointer;
  // Of so many pointers to one block, the next are mostly to this block, too.
  constexpr std::uint64_t kRepeated = 8;
  const bool is_row = from.stride_bytes == swizzle::kWirePointerBytes;
  const auto left = [count](std::uint64_t i) { return static_cast<std::size_t>(count - i - 1); };
  std::uint64_t repeated = 0;
  std::uint64_t last_block = 0;
  for (std::uint64_t i = 0; i < count; ++i, from.at += from.stride_bytes) {
    const PointerWords words = load_words(from.at);
    if (words.block == last_block && last_block != 0) {
      if (++repeated % kRepeated != 0 || !is_row) continue;
      const auto more = platform::count_tagged(last_block, from.after(1).at, left(i));
      from = from.after(more);
      i += more;
      continue;
    }
    if (!pointer(units, pointer_of(words))) return false;
    if (is_pointer) last_block = words.block;
  }
  return true;
}

bool UnitChecker::lane(const LaneUnits& units, From from, std::uint64_t count) {
  switch (units.kind) {
    case UnitKind::number:
      return true;
    case UnitKind::boolean:
    case UnitKind::enumeration:
      return words(units, from, count);
    case UnitKind::string:
      return short_strings(units, from, count);
    default:
      return pointers(units, from, count);
  }
}

// Below 2^40 units of at most 16 bytes: the products stay in range.
bool UnitChecker::records(Reader& from, const UnitRow& row) {
  const std::size_t record_bytes = travelling_bytes_of_record(*row.type);
  if (record_bytes == 0) return records_with_strings(from, row);
  const std::byte* bytes = nullptr;
  if (!from.take(row.count * record_bytes, bytes)) return truncated();
  return for_each_lane(row, [&](const LaneUnits& units, std::size_t, std::size_t there) {
    return lane(units, {bytes + there, record_bytes}, row.count);
  });
}

bool UnitChecker::record(Reader& from, const RecordParts& parts, std::byte* fixed) {
  for (const RecordPart& part : parts.parts()) {
    const std::size_t readable = from.remaining();
    const std::byte* bytes = nullptr;
    if (!from.take(part.fixed_bytes, bytes)) return truncated();
    RecordBuffer::copy(fixed + part.fixed_offset, bytes, part.fixed_bytes, readable);
    if (part.strings != 0 && !long_strings(from, *part.string, part.strings)) return false;
  }
  return true;
}

bool UnitChecker::records_with_strings(Reader& from, const UnitRow& row) {
  const RecordParts parts(*row.type);
  RecordBuffer buffer(parts);
  for (UnitRow rest = row; rest.count != 0;) {
    const UnitRow batch = parts.batch(rest);
    for (std::uint64_t i = 0; i < batch.count; ++i) {
      if (!record(from, parts, buffer.record(i))) return false;
    }
    const bool is_valid = RecordParts::for_each_fixed_lane(
        batch, [&](const LaneUnits& units, std::size_t, std::size_t there) {
          return lane(units, buffer.lane_of(there), batch.count);
        });
    if (!is_valid) return false;
    rest = records_after(rest, batch.count);
  }
  return true;
}

bool UnitChecker::row(Reader& from, const UnitRow& row) {
  if (row.kind == UnitKind::repeat) return records(from, row);
  if (row.kind == UnitKind::choice) {
    // Each takes at least four bytes, so that the bytes received bound the loop.
    for (std::uint64_t i = 0; i < row.count; ++i) {
      if (!choice(from, *row.type)) return false;
    }
    return true;
  }
  const std::size_t each = travelling_bytes_each(row);
  if (each == 0) return long_strings(from, *row.type, row.count);
  const std::byte* bytes = nullptr;
  if (!from.take(row.count * each, bytes)) return truncated();
  return lane(lane_units(row), {bytes, each}, row.count);
}

struct UnitChecker::Visitor {
  static bool takes_values_of(const Type& type) { return is_plain_record(type); }
  bool operator()(const UnitRow& one) const { return checker.row(from, one); }
  UnitChecker& checker;
  Reader& from;
};

bool UnitChecker::check(Reader& from, const types::Step& array, std::uint64_t first,
                        std::uint64_t end) {
  return types::for_each_row(array, first, end, Visitor{*this, from});
}

}  // namespace iw::diff
