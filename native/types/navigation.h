// Converts bytes of a block in memory to primitive units and back, and finds the types that begin
// at a unit. A block is `count` values of one type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "types/type.h"

namespace iw::types {

struct UnitAt {
  std::uint64_t unit = 0;
  // Whether a pointer to this byte has a MIP: it is the first byte of a unit [MIP-4], or one past
  // the end of the block [MIP-5].
  bool exact = false;
  bool in_padding = false;  // then `unit` is the next one
};

// `byte` is from the block's beginning, at most count * type.size_bytes.
UnitAt unit_of_byte(const Type& type, std::uint64_t count, std::size_t byte);

// The first byte of a unit; `unit` is at most count * type.units (one past the end).
std::size_t byte_of_unit(const Type& type, std::uint64_t count, std::uint64_t unit);

// Whether a value of `wanted` begins at this unit of the block: the block's own type, or what is
// embedded in it. One past the end fits a type that would continue the block.
bool begins_at_unit(const Type& type, std::uint64_t count, std::uint64_t unit, const Type& wanted);

struct UnitRange {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};

// The units that have a byte in [begin, end) of the block; empty if only padding is there.
UnitRange units_covering(const Type& type, std::uint64_t count, std::size_t begin_byte,
                         std::size_t end_byte);
// The same for array_step(type, count).
UnitRange units_covering(const Step& array, std::size_t begin_byte, std::size_t end_byte);

}  // namespace iw::types
