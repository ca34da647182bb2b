// Units from memory into travelling form [WIRE-1..7].
#pragma once

#include <cstddef>
#include <cstdint>

#include "diff/pieces.h"
#include "swizzle/swizzler.h"
#include "types/plan.h"
#include "types/result.h"
#include "types/type.h"

namespace iw::diff {

using types::Result;

class UnitWriter {
 public:
  UnitWriter(Pieces& out, swizzle::Swizzler& swizzler, bool may_send_views)
      : out_(out), swizzler_(swizzler), may_send_views_(may_send_views) {}

  // The units [first, end) of an array that begins at `base`. False: see error() and bad_unit().
  bool write(const types::Step& array, std::uint64_t first, std::uint64_t end,
             const std::byte* base);

  [[nodiscard]] const Result& error() const { return error_; }
  [[nodiscard]] std::uint64_t bad_unit() const { return bad_unit_; }

 private:
  bool row(const types::UnitRow& row, const std::byte* from);
  void numbers(const types::UnitRow& row, const std::byte* from);
  bool word(const types::UnitRow& row, const std::byte* from);
  bool string(const types::Type& type, const std::byte* from);
  bool choice(const types::Type& type, const std::byte* from);
  bool text(const char* text, swizzle::WirePointer& wire);
  bool pointer(const types::UnitRow& row, const std::byte* from);
  bool bad_value(const types::Type& type, const char* why);

  Pieces& out_;
  swizzle::Swizzler& swizzler_;
  const bool may_send_views_;
  Result error_;
  std::uint64_t bad_unit_ = 0;
};

}  // namespace iw::diff
