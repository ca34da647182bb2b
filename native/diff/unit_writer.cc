#include "diff/unit_writer.h"

#include <array>
#include <cstring>
#include <span>
#include <string>

#include "diff/format.h"
#include "diff/short_string.h"
#include "memory/address_map.h"
#include "platform/byte_order.h"
#include "platform/vector_rows.h"

namespace iw::diff {

using types::NativeSequence;
using types::Primitive;
using types::Type;
using types::UnitKind;
using types::UnitRow;

namespace {

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

bool UnitWriter::bad_at(const LaneUnits& units, std::uint64_t index) {
  bad_unit_ = units.first_unit + index * units.units_apart;
  return false;
}

// Zero is always accepted, because memory that was never written is zero [WIRE-4].
bool UnitWriter::words(const LaneUnits& units, From from, To to, std::uint64_t count) {
  const bool is_bool = units.kind == UnitKind::boolean;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto value = load<std::uint32_t>(from.at);
    if (value > 1 && is_bool) {
      bad_value(types::primitive_type(Primitive::boolean), "is neither 0 nor 1");
      return bad_at(units, i);
    }
    if (value != 0 && !is_bool && !units.type->has_member(static_cast<std::int32_t>(value))) {
      bad_value(*units.type, "has a value that is not a member");
      return bad_at(units, i);
    }
    platform::store_little_endian(to.at, value);
    from.at += from.stride_bytes;
    to.at += to.stride_bytes;
  }
  return true;
}

// Bytes after the NUL are old memory and do not travel.
bool UnitWriter::short_strings(const LaneUnits& units, From from, To to, std::uint64_t count) {
  if (write_short_strings(units.type->count, from, to, count)) return true;
  bad_value(*units.type, "has no NUL within its bound");
  return bad_at(units, count);
}

std::byte* UnitWriter::long_string(const Type& type, const std::byte* from, std::byte* to) {
  const std::size_t most = static_cast<std::size_t>(type.count) + 1;
  const std::size_t length = platform::copy_string(to + kStringLengthBytes, from, most);
  if (length == most) {
    bad_value(type, "has no NUL within its bound");
    return nullptr;
  }
  platform::store_little_endian(to, static_cast<std::uint16_t>(length));
  return to + kStringLengthBytes + length;
}

bool UnitWriter::long_strings(const UnitRow& row, const std::byte* from) {
  const std::size_t most = kStringLengthBytes + static_cast<std::size_t>(row.type->count) + 1;
  for (std::uint64_t i = 0; i < row.count; ++i, from += row.stride_bytes) {
    std::byte* const to = out_.extend(most);
    std::byte* const end = long_string(*row.type, from, to);
    if (end == nullptr) {
      bad_unit_ = row.first_unit + i;
      return false;
    }
    out_.shrink(static_cast<std::size_t>(to + most - end));
  }
  return true;
}

bool UnitWriter::choice(const Type& type, const std::byte* from) {
  const auto value = load<std::int32_t>(from);
  const types::Arm* arm = nullptr;
  if (!type.select_arm(value, arm)) {
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

bool UnitWriter::owned_pointer(const LaneUnits& units, const std::byte* from,
                               swizzle::WirePointer& wire) {
  if (units.kind == UnitKind::text) return text(load<const char*>(from), wire);
  const auto length = load<unsigned int>(from + offsetof(NativeSequence, length));
  const auto* const elements = load<const void*>(from + offsetof(NativeSequence, elements));
  error_ = swizzler_.owned_to_wire(elements, *units.type->element, length, wire);
  return error_.ok();
}

bool UnitWriter::owned(const LaneUnits& units, From from, To to, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    swizzle::WirePointer wire;
    if (!owned_pointer(units, from.at, wire)) return bad_at(units, i);
    store_words(words_of(wire), to.at);
    from.at += from.stride_bytes;
    to.at += to.stride_bytes;
  }
  return true;
}

bool UnitWriter::pointers(const LaneUnits& units, From from, To to, std::uint64_t count) {
  const Type* const target = units.type->target;
  BlockPrediction& prediction = predictions_.for_target(target);
  RowLength length;
  for (std::uint64_t i = 0;;) {
    const std::uint64_t known =
        options_.predicts_blocks ? prediction.to_wire(from, to, count - i) : 0;
    i += known;
    if (i == count) return true;
    from = from.after(known);
    to = to.after(known);
    std::array<const void*, swizzle::Swizzler::kMostTogether> addresses;
    std::array<swizzle::WirePointer, swizzle::Swizzler::kMostTogether> wires;
    const std::size_t together = length.next(known, count - i);
    for (std::size_t k = 0; k < together; ++k) {
      addresses[k] = load<const void*>(from.at);
      from = from.after(1);
    }
    std::size_t done = 0;
    error_ = swizzler_.to_wire(std::span(addresses.data(), together), target, wires.data(), done);
    for (std::size_t k = 0; k < done; ++k) {
      const PointerWords words = words_of(wires[k]);
      prediction.learn(words, addresses[k]);
      store_words(words, to.at);
      to = to.after(1);
    }
    if (!error_.ok()) return bad_at(units, i + done);
    i += together;
    if (i == count) return true;
  }
}

bool UnitWriter::lane(const LaneUnits& units, From from, To to, std::uint64_t count) {
  switch (units.kind) {
    case UnitKind::number:
      copy_numbers(from, to, count, units.number_bytes, static_cast<std::size_t>(units.numbers));
      return true;
    case UnitKind::boolean:
    case UnitKind::enumeration:
      return words(units, from, to, count);
    case UnitKind::string:
      return short_strings(units, from, to, count);
    case UnitKind::pointer:
      return pointers(units, from, to, count);
    default:
      return owned(units, from, to, count);
  }
}

bool UnitWriter::records(const UnitRow& row, const std::byte* from) {
  const std::size_t bytes = travelling_bytes_of_record(*row.type);
  if (bytes == 0) return records_with_strings(row, from);
  std::byte* to = out_.extend(bytes * static_cast<std::size_t>(row.count));
  std::size_t done = 0;
  if (const platform::ByteMap map = map_of_record(*row.type); map.to_bytes != 0) {
    done = platform::map_rows(map, from, to, static_cast<std::size_t>(row.count));
    from += done * row.stride_bytes;
    to += done * bytes;
  }
  const UnitRow rest = records_after(row, done);
  return for_each_part_of_records(rest, [&](const UnitRow& part, std::size_t before) {
    const std::byte* const part_from = from + (part.offset_bytes - rest.offset_bytes);
    return for_each_lane(part, [&](const LaneUnits& units, std::size_t here, std::size_t there) {
      return lane(units, {part_from + here, row.stride_bytes}, {to + before + there, bytes},
                  part.count);
    });
  });
}

// To where there is room for it and RecordParts::kCopied more. Where its bytes end, or null.
std::byte* UnitWriter::record(const RecordParts& parts, const std::byte* from,
                              const std::byte* fixed, std::byte* to) {
  for (const RecordPart& part : parts.parts()) {
    RecordBuffer::copy(to, fixed + part.fixed_offset, part.fixed_bytes, RecordParts::kCopied);
    to += part.fixed_bytes;
    for (std::uint64_t i = 0; i < part.strings; ++i) {
      const std::size_t at = part.offset_bytes + static_cast<std::size_t>(i) * part.stride_bytes;
      to = long_string(*part.string, from + at, to);
      if (to != nullptr) continue;
      bad_unit_ = part.first_unit + i;
      return nullptr;
    }
  }
  return to;
}

bool UnitWriter::records_with_strings(const UnitRow& row, const std::byte* from) {
  const RecordParts parts(*row.type);
  const std::size_t most = parts.most_bytes() + RecordParts::kCopied;
  RecordBuffer buffer(parts);
  for (UnitRow rest = row; rest.count != 0;) {
    const UnitRow batch = parts.batch(rest);
    const bool is_written = RecordParts::for_each_fixed_lane(
        batch, [&](const LaneUnits& units, std::size_t here, std::size_t there) {
          return lane(units, {from + here, row.stride_bytes}, buffer.lane(there), batch.count);
        });
    if (!is_written) return false;
    for (std::uint64_t i = 0; i < batch.count; ++i, from += row.stride_bytes) {
      std::byte* const to = out_.extend(most);
      std::byte* const end = record(parts, from, buffer.record(i), to);
      if (end == nullptr) {
        bad_unit_ += batch.first_unit + i * row.type->units;
        return false;
      }
      out_.shrink(static_cast<std::size_t>(to + most - end));
    }
    rest = records_after(rest, batch.count);
  }
  return true;
}

bool UnitWriter::choices(const UnitRow& row, const std::byte* from) {
  for (std::uint64_t i = 0; i < row.count; ++i, from += row.stride_bytes) {
    if (choice(*row.type, from)) continue;
    bad_unit_ = row.first_unit + i;
    return false;
  }
  return true;
}

bool UnitWriter::row(const UnitRow& row, const std::byte* from) {
  if (row.kind == UnitKind::repeat) return records(row, from);
  if (row.kind == UnitKind::choice) return choices(row, from);
  const std::size_t each = travelling_bytes_each(row);
  if (each == 0) return long_strings(row, from);
  const std::size_t bytes = each * static_cast<std::size_t>(row.count);
  if (row.kind == UnitKind::number && may_send_views_ && bytes >= Pieces::kLeastSliceBytes &&
      (platform::is_little_endian || row.number_bytes == 1)) {
    out_.append_view(from, bytes);
    return true;
  }
  return lane(lane_units(row), {from, row.stride_bytes}, {out_.extend(bytes), each}, row.count);
}

struct UnitWriter::Visitor {
  static bool takes_values_of(const Type& type) { return is_plain_record(type); }
  bool operator()(const UnitRow& one) const { return writer.row(one, base + one.offset_bytes); }
  UnitWriter& writer;
  const std::byte* base;
};

bool UnitWriter::write(const types::Step& array, std::uint64_t first, std::uint64_t end,
                       const std::byte* base) {
  return types::for_each_row(array, first, end, Visitor{*this, base});
}

}  // namespace iw::diff
