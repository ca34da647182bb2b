// Units from memory into travelling form [WIRE-1..7].
#pragma once

#include <cstddef>
#include <cstdint>

#include "diff/block_prediction.h"
#include "diff/fixed_units.h"
#include "diff/format.h"
#include "diff/pieces.h"
#include "diff/record_parts.h"
#include "swizzle/swizzler.h"
#include "types/plan.h"
#include "types/result.h"
#include "types/type.h"

namespace iw::diff {

using types::Result;

class UnitWriter {
 public:
  UnitWriter(Pieces& out, swizzle::Swizzler& swizzler, bool may_send_views,
             const Options& options = {})
      : out_(out), swizzler_(swizzler), may_send_views_(may_send_views), options_(options) {}

  // The units [first, end) of an array that begins at `base`. False: see error() and bad_unit().
  bool write(const types::Step& array, std::uint64_t first, std::uint64_t end,
             const std::byte* base);

  [[nodiscard]] const Result& error() const { return error_; }
  [[nodiscard]] std::uint64_t bad_unit() const { return bad_unit_; }

 private:
  struct Visitor;
  using From = Lane<const std::byte>;
  using To = Lane<std::byte>;

  bool row(const types::UnitRow& row, const std::byte* from);
  bool records(const types::UnitRow& row, const std::byte* from);
  bool long_strings(const types::UnitRow& row, const std::byte* from);
  bool records_with_strings(const types::UnitRow& row, const std::byte* from);
  std::byte* record(const RecordParts& parts, const std::byte* from, const std::byte* fixed,
                    std::byte* to);
  // To where there is room for one byte more. Where its bytes end, or null.
  std::byte* long_string(const types::Type& type, const std::byte* from, std::byte* to);
  bool choices(const types::UnitRow& row, const std::byte* from);
  bool choice(const types::Type& type, const std::byte* from);

  // `count` units, or pieces of numbers, whose travelling form has a fixed length.
  bool lane(const LaneUnits& units, From from, To to, std::uint64_t count);
  bool words(const LaneUnits& units, From from, To to, std::uint64_t count);
  bool short_strings(const LaneUnits& units, From from, To to, std::uint64_t count);
  bool pointers(const LaneUnits& units, From from, To to, std::uint64_t count);
  bool owned(const LaneUnits& units, From from, To to, std::uint64_t count);
  bool owned_pointer(const LaneUnits& units, const std::byte* from, swizzle::WirePointer& wire);
  bool text(const char* text, swizzle::WirePointer& wire);
  bool bad_value(const types::Type& type, const char* why);
  bool bad_at(const LaneUnits& units, std::uint64_t index);

  Pieces& out_;
  swizzle::Swizzler& swizzler_;
  const bool may_send_views_;
  const Options options_;
  BlockPredictions predictions_;
  Result error_;
  std::uint64_t bad_unit_ = 0;
};

}  // namespace iw::diff
