// Units in travelling form, checked without being used: the first pass over a diff [DIFF-1].
#pragma once

#include <cstdint>
#include <vector>

#include "diff/fixed_units.h"
#include "diff/record_parts.h"
#include "diff/varint.h"
#include "swizzle/wire_pointer.h"
#include "types/plan.h"
#include "types/result.h"
#include "types/type.h"

namespace iw::diff {

using types::Result;

class UnitChecker {
 public:
  // `slot_count`: of the segment's slot table after the diff.
  explicit UnitChecker(std::size_t slot_count) : slot_count_(slot_count) {}

  // Reads the units [first, end) of an array. False: see error().
  bool check(Reader& from, const types::Step& array, std::uint64_t first, std::uint64_t end);

  [[nodiscard]] const Result& error() const { return error_; }
  // In the order of arrival: the pointers that lead out of the segment, and the serials of blocks
  // that fields own. Of consecutive pointers to one block only the first is listed.
  [[nodiscard]] std::vector<swizzle::WirePointer>& foreign() { return foreign_; }
  [[nodiscard]] std::vector<std::uint64_t>& owned() { return owned_; }

 private:
  struct Visitor;
  using From = Lane<const std::byte>;

  bool row(Reader& from, const types::UnitRow& row);
  bool records(Reader& from, const types::UnitRow& row);
  bool records_with_strings(Reader& from, const types::UnitRow& row);
  // `fixed` gets the units of a fixed length, unchecked.
  bool record(Reader& from, const RecordParts& parts, std::byte* fixed);
  bool long_strings(Reader& from, const types::Type& type, std::uint64_t count);
  bool long_string(Reader& from, const types::Type& type);
  bool choice(Reader& from, const types::Type& type);

  // `count` units whose travelling form has a fixed length.
  bool lane(const LaneUnits& units, From from, std::uint64_t count);
  bool words(const LaneUnits& units, From from, std::uint64_t count);
  bool short_strings(const LaneUnits& units, From from, std::uint64_t count);
  bool pointers(const LaneUnits& units, From from, std::uint64_t count);
  bool pointer(const LaneUnits& units, const swizzle::WirePointer& wire);
  bool truncated();
  bool refuse(types::error_code code, const types::Type* type, const char* why);

  std::size_t slot_count_;
  Result error_;
  std::vector<swizzle::WirePointer> foreign_;
  std::vector<std::uint64_t> owned_;
};

}  // namespace iw::diff
