// Blocks that are rows of one number type, in arrays or not: a run of them travels as it lies, but
// for the order of its bytes, and needs no plan. Sparse updates are many short runs, so these
// blocks have a way of their own.
#pragma once

#include <cstddef>

#include "types/type.h"

namespace iw::diff {

// Of one number; 0: the type holds something else, too.
inline std::size_t plain_number_bytes(const types::Type& type) {
  const types::Type* leaf = &type;
  while (leaf->kind == types::Kind::array) leaf = leaf->element;
  const bool is_number = leaf->kind == types::Kind::primitive &&
                         leaf->primitive != types::Primitive::none &&
                         leaf->primitive != types::Primitive::boolean;
  return is_number ? static_cast<std::size_t>(leaf->size_bytes) : 0;
}

}  // namespace iw::diff
