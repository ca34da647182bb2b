// Records with strings of any length. The units between two strings have a fixed length together.
// Field by field, they are translated for a batch of records at once, from or to a buffer that has
// what travels of them record by record. Between the buffer and the diff a record is a few copies.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "diff/fixed_units.h"
#include "types/plan.h"
#include "types/type.h"

namespace iw::diff {

// Units of a fixed length, and the strings behind them.
struct RecordPart {
  std::size_t fixed_offset = 0;  // in what travels of the record's units of a fixed length
  std::size_t fixed_bytes = 0;
  const types::Type* string = nullptr;
  std::uint64_t strings = 0;
  std::uint64_t first_unit = 0;  // of the strings, from the beginning of the record
  std::size_t offset_bytes = 0;  // likewise, in memory
  std::size_t stride_bytes = 0;
};

class RecordParts {
 public:
  // A copy of a short part may take so many bytes instead, which costs less than to count them.
  static constexpr std::size_t kCopied = 32;

  // REQUIRES: a plain record.
  explicit RecordParts(const types::Type& type);

  [[nodiscard]] const std::vector<RecordPart>& parts() const { return parts_; }
  [[nodiscard]] std::size_t fixed_bytes() const { return fixed_bytes_; }
  // What a record takes at most when it is written, with one byte more for each string.
  [[nodiscard]] std::size_t most_bytes() const { return most_bytes_; }

  // The first records of a row that one buffer holds.
  [[nodiscard]] types::UnitRow batch(types::UnitRow row) const {
    constexpr std::size_t kMostTogether = 32;
    const std::size_t room = kBufferBytes / std::max<std::size_t>(1, fixed_bytes_);
    row.count = std::min<std::uint64_t>(row.count, std::clamp<std::size_t>(room, 1, kMostTogether));
    return row;
  }

  // Calls f(LaneUnits, offset in memory, offset in the buffer), until it returns false, for the
  // fields of a batch that have a fixed length.
  template <typename F>
  static bool for_each_fixed_lane(const types::UnitRow& batch, F&& f) {
    return for_each_lane(batch, [&](const LaneUnits& units, std::size_t here, std::size_t there) {
      return travelling_bytes_each(units) == 0 || f(units, here, there);
    });
  }

 private:
  friend class RecordBuffer;
  // Twice the largest plain record, because a pointer takes twice its size in memory.
  static constexpr std::size_t kBufferBytes = 4096;

  std::vector<RecordPart> parts_;
  std::size_t fixed_bytes_ = 0;
  std::size_t most_bytes_ = 0;
};

inline RecordParts::RecordParts(const types::Type& type) {
  RecordPart part;
  for (const types::Step& step : type.plan.steps) {
    if (const std::size_t each = travelling_bytes_each(step); each != 0) {
      part.fixed_bytes += each * static_cast<std::size_t>(step.count);
      continue;
    }
    part.string = step.type;
    part.strings = step.count;
    part.first_unit = step.first_unit;
    part.offset_bytes = step.offset_bytes;
    part.stride_bytes = step.stride_bytes;
    parts_.push_back(part);
    most_bytes_ += static_cast<std::size_t>(step.count) * (kStringLengthBytes + step.stride_bytes);
    fixed_bytes_ += part.fixed_bytes;
    part = {};
    part.fixed_offset = fixed_bytes_;
  }
  fixed_bytes_ += part.fixed_bytes;
  most_bytes_ += fixed_bytes_;
  if (part.fixed_bytes != 0) parts_.push_back(part);
}

// The bytes of a batch that travel, of units of a fixed length.
class RecordBuffer {
 public:
  explicit RecordBuffer(const RecordParts& parts) : record_bytes_(parts.fixed_bytes()) {}

  [[nodiscard]] std::byte* record(std::uint64_t index) {
    return bytes_.data() + static_cast<std::size_t>(index) * record_bytes_;
  }
  [[nodiscard]] Lane<std::byte> lane(std::size_t offset) {
    return {bytes_.data() + offset, record_bytes_};
  }
  [[nodiscard]] Lane<const std::byte> lane_of(std::size_t offset) const {
    return {bytes_.data() + offset, record_bytes_};
  }

  // Parts come in order, and each may write on the room of the next. `readable`: bytes at `from`.
  static void copy(std::byte* to, const std::byte* from, std::size_t bytes, std::size_t readable) {
    if (bytes <= RecordParts::kCopied && readable >= RecordParts::kCopied) {
      std::memcpy(to, from, RecordParts::kCopied);
    } else {
      std::memcpy(to, from, bytes);
    }
  }

 private:
  std::size_t record_bytes_;
  std::array<std::byte, RecordParts::kBufferBytes + RecordParts::kCopied> bytes_;
};

}  // namespace iw::diff
