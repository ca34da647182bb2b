// Units of a block, read off this program's memory field by field (not by translation plans, which
// are what is tested), as the JSON of the vectors and in the slot form of the wire format.
#pragma once

#include <cstddef>
#include <vector>

#include "swizzle/swizzler.h"
#include "types/type.h"
#include "vectors/json.h"

namespace iw::vectors {

struct Units {
  std::vector<Json> values;
  std::vector<std::byte> slots;
};

// Appends the units of one value of the type.
void read_units(const types::Type& type, const std::byte* from, swizzle::Swizzler& swizzler,
                Units& out);

Json show_pointer(const swizzle::WirePointer& pointer);

}  // namespace iw::vectors
