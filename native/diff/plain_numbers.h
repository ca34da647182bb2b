// Blocks that hold numbers of one type only, in arrays or not. A run of them travels as it lies in
// memory, except for the byte order, and needs no translation plan. Sparse updates are many short
// runs, so these blocks have a path of their own.
#pragma once

#include <cstddef>

#include "types/type.h"

namespace iw::diff {

// The bytes of one number; 0 if the type also holds something else.
inline std::size_t plain_number_bytes(const types::Type& type) {
  const types::Type* leaf = &type;
  while (leaf->kind == types::Kind::array) leaf = leaf->element;
  const bool is_number = leaf->kind == types::Kind::primitive &&
                         leaf->primitive != types::Primitive::none &&
                         leaf->primitive != types::Primitive::boolean;
  return is_number ? static_cast<std::size_t>(leaf->size_bytes) : 0;
}

}  // namespace iw::diff
