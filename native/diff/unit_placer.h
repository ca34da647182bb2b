// Units in travelling form, placed in memory: the second pass over a diff, after UnitChecker has
// accepted the same bytes for the same units.
#pragma once

#include <cstddef>
#include <cstdint>

#include "diff/block_prediction.h"
#include "diff/fixed_units.h"
#include "diff/format.h"
#include "diff/record_parts.h"
#include "diff/varint.h"
#include "swizzle/swizzler.h"
#include "types/plan.h"
#include "types/result.h"
#include "types/type.h"

namespace iw::diff {

using types::Result;

class UnitPlacer {
 public:
  UnitPlacer(swizzle::Swizzler& swizzler, const Options& options)
      : swizzler_(swizzler), options_(options) {}

  // Places the units [first, end) of an array. `to` is where the byte `to_offset_bytes` of the
  // array is, and there is room for those units. False, for want of memory: see error().
  bool place(Reader& from, const types::Step& array, std::uint64_t first, std::uint64_t end,
             std::byte* to, std::size_t to_offset_bytes);

  [[nodiscard]] const Result& error() const { return error_; }

 private:
  struct Visitor;
  using From = Lane<const std::byte>;
  using To = Lane<std::byte>;

  bool row(Reader& from, const types::UnitRow& row, std::byte* to);
  bool records(Reader& from, const types::UnitRow& row, std::byte* to);
  bool records_with_strings(Reader& from, const types::UnitRow& row, std::byte* to);
  // The strings of a record; `fixed` gets its other units as they travel.
  void record(Reader& from, const RecordParts& parts, std::byte* fixed, std::byte* to);
  bool choices(Reader& from, const types::UnitRow& row, std::byte* to);
  bool choice(Reader& from, const types::Type& type, std::byte* to);
  void long_string(Reader& from, const types::Type& type, std::byte* to);
  void long_strings(Reader& from, const types::UnitRow& row, std::byte* to);

  // `count` units, or pieces of numbers, whose travelling form has a fixed length.
  bool lane(const LaneUnits& units, From from, To to, std::uint64_t count);
  bool pointers(const LaneUnits& units, From from, To to, std::uint64_t count);
  void owned(const LaneUnits& units, From from, To to, std::uint64_t count);
  void owned_pointer(const swizzle::WirePointer& wire, const LaneUnits& units, std::byte* to);
  // The next bytes, which the checker has seen.
  const std::byte* take(Reader& from, std::uint64_t count);

  swizzle::Swizzler& swizzler_;
  const Options options_;
  BlockPredictions predictions_;
  Result error_;
};

}  // namespace iw::diff
