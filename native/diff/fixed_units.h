// Rows of records, translated faster than unit by unit.
//
// If every unit's travelling form has a fixed length, a row of records is translated field by
// field. Numbers, bools, enumerations, pointers and short strings have one. The first field of all
// records is translated first, then the second. Each loop then handles one kind of unit at fixed
// distances on both sides. Records with strings of any length: record_parts.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "diff/format.h"
#include "platform/byte_order.h"
#include "platform/vector_rows.h"
#include "swizzle/wire_pointer.h"
#include "types/plan.h"
#include "types/type.h"

namespace iw::diff {

// Of one unit of a step or row; 0: not fixed.
template <typename Units>
std::size_t travelling_bytes_each(const Units& step) {
  switch (step.kind) {
    case types::UnitKind::number:
      return step.number_bytes;
    case types::UnitKind::boolean:
    case types::UnitKind::enumeration:
      return 4;
    case types::UnitKind::string:
      return step.type->count <= kWholeStringBound ? static_cast<std::size_t>(step.type->count) : 0;
    case types::UnitKind::pointer:
    case types::UnitKind::sequence:
    case types::UnitKind::text:
      return swizzle::kWirePointerBytes;
    case types::UnitKind::choice:
    case types::UnitKind::repeat:
      break;
  }
  return 0;
}

// Records that are visited in rows: small ones of plain units.
inline bool is_plain_record(const types::Type& type) {
  constexpr std::size_t kMostBytes = 1024;
  return type.size_bytes <= kMostBytes &&
         std::none_of(type.plan.steps.begin(), type.plan.steps.end(), [](const types::Step& step) {
           return step.kind == types::UnitKind::repeat || step.kind == types::UnitKind::choice;
         });
}

// Of a plain record; 0: not fixed.
inline std::size_t travelling_bytes_of_record(const types::Type& type) {
  std::size_t sum = 0;
  for (const types::Step& step : type.plan.steps) {
    const std::size_t each = travelling_bytes_each(step);
    if (each == 0) return 0;
    sum += each * static_cast<std::size_t>(step.count);
  }
  return sum;
}

// Units of one kind on one side: memory, or bytes that travel.
template <typename Byte>
struct Lane {
  Byte* at = nullptr;
  std::size_t stride_bytes = 0;

  [[nodiscard]] Lane after(std::uint64_t count) const {
    return {at + static_cast<std::size_t>(count) * stride_bytes, stride_bytes};
  }
};

namespace lane_detail {
template <std::size_t bytes>
void copy(Lane<const std::byte> from, Lane<std::byte> to, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    std::memcpy(to.at, from.at, bytes);
    from.at += from.stride_bytes;
    to.at += to.stride_bytes;
  }
}
}  // namespace lane_detail

// `count` pieces of `numbers` numbers each, between native and little-endian order.
inline void copy_numbers(Lane<const std::byte> from, Lane<std::byte> to, std::uint64_t count,
                         std::size_t number_bytes, std::size_t numbers) {
  const std::size_t piece_bytes = number_bytes * numbers;
  if (from.stride_bytes == piece_bytes && to.stride_bytes == piece_bytes) {
    platform::copy_little_endian(to.at, from.at, number_bytes,
                                 numbers * static_cast<std::size_t>(count));
    return;
  }
  if (platform::is_little_endian) {
    if (piece_bytes == 4) return lane_detail::copy<4>(from, to, count);
    if (piece_bytes == 8) return lane_detail::copy<8>(from, to, count);
    if (piece_bytes == 16) return lane_detail::copy<16>(from, to, count);
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    platform::copy_little_endian(to.at, from.at, number_bytes, numbers);
    from.at += from.stride_bytes;
    to.at += to.stride_bytes;
  }
}

// The units of a lane: pieces of `numbers` numbers, or units of another kind.
struct LaneUnits {
  types::UnitKind kind;
  std::uint8_t number_bytes;
  const types::Type* type;
  std::uint64_t numbers;  // 1 for other kinds
  std::uint64_t first_unit;
  std::uint64_t units_apart;
};

// A row of units as one lane.
inline LaneUnits lane_units(const types::UnitRow& row) {
  return {row.kind, row.number_bytes, row.type, 1, row.first_unit, 1};
}

// Calls f(LaneUnits, offset in memory, offset in the bytes that travel) for the fields of a row of
// records, until it returns false; both offsets are from the first record's beginning.
template <typename F>
bool for_each_lane(const types::UnitRow& row, F&& f) {
  std::size_t travelling = 0;
  for (const types::Step& step : row.type->plan.steps) {
    const bool is_number = step.kind == types::UnitKind::number;
    const std::uint64_t numbers = is_number ? step.count : 1;
    const std::size_t piece_bytes = travelling_bytes_each(step) * static_cast<std::size_t>(numbers);
    for (std::uint64_t i = 0; i < step.count; i += numbers) {
      const LaneUnits units{step.kind,
                            step.number_bytes,
                            step.type,
                            numbers,
                            row.first_unit + step.first_unit + i,
                            row.type->units};
      if (!f(units, step.offset_bytes + static_cast<std::size_t>(i) * step.stride_bytes,
             travelling)) {
        return false;
      }
      travelling += piece_bytes;
    }
  }
  return true;
}

// How a record of numbers becomes the bytes that travel, where vector instructions can do it. Its
// to_bytes are 0 if they cannot.
inline platform::ByteMap map_of_record(const types::Type& type) {
  platform::ByteMap map{static_cast<std::size_t>(type.size_bytes), 0, {}};
  if (!platform::is_little_endian || type.size_bytes > platform::ByteMap::kMostBytes) return map;
  std::size_t travelling = 0;
  for (const types::Step& step : type.plan.steps) {
    if (step.kind != types::UnitKind::number) return map;
    for (std::size_t at = step.offset_bytes; at < step.end_bytes(); ++at) {
      map.take[travelling++] = static_cast<std::uint8_t>(at);
    }
  }
  map.to_bytes = travelling;
  return map;
}

// The way back; padding becomes zeros.
inline platform::ByteMap reversed(const platform::ByteMap& map) {
  platform::ByteMap back{map.to_bytes, map.from_bytes, {}};
  back.take.fill(platform::ByteMap::kZero);
  for (std::size_t i = 0; i < map.to_bytes; ++i)
    back.take[map.take[i]] = static_cast<std::uint8_t>(i);
  return back;
}

// A row of records without its first `count`.
inline types::UnitRow records_after(types::UnitRow row, std::uint64_t count) {
  row.first_unit += count * row.type->units;
  row.offset_bytes += static_cast<std::size_t>(count) * row.stride_bytes;
  row.count -= count;
  return row;
}

// Calls f(row, bytes before it that travel) for parts of a row of records that fit the nearest
// cache.
template <typename F>
bool for_each_part_of_records(const types::UnitRow& row, F&& f) {
  constexpr std::size_t kTogetherBytes = 8192;
  const std::size_t record_bytes = travelling_bytes_of_record(*row.type);
  const std::uint64_t together = std::max<std::size_t>(1, kTogetherBytes / row.stride_bytes);
  types::UnitRow part = row;
  for (std::uint64_t done = 0; done < row.count; done += part.count) {
    part.first_unit = row.first_unit + done * row.type->units;
    part.offset_bytes = row.offset_bytes + static_cast<std::size_t>(done) * row.stride_bytes;
    part.count = std::min(together, row.count - done);
    if (!f(part, static_cast<std::size_t>(done) * record_bytes)) return false;
  }
  return true;
}

}  // namespace iw::diff
