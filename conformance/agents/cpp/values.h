// Values as text and back: units of a block, walked by the table that the segment gives of its
// type. A value's address is never used but through memcpy, so that every bit arrives as it is.
#pragma once

#include <string>

#include "interweave.h"
#include "json.h"

namespace agent {

// A failure of the library: IW_errno() and IW_strerror() say which.
struct LibraryFailed {};

// `count` values of a type in a row, in memory.
struct Values {
  IW_type_t type = nullptr;
  std::size_t count = 0;
  char* at = nullptr;
};

// One unit of some values.
struct Unit {
  IW_type_t type = nullptr;
  char* at = nullptr;
};

Unit find_unit(const Values& values, std::size_t offset);

// What a unit holds: a sequence's elements, a text's characters, a union's active arm.
Values held_by(const Unit& unit);

// JSON text of one unit, and of all units of some values as a list.
std::string show(const Unit& unit);
std::string show_units(const Values& values);

// Stores a unit. Sequences and texts are assigned, a pointer's MIP is looked up.
void put(IW_handle_t segment, const Unit& unit, const Json& value);

}  // namespace agent
