// One step by which a sequence becomes longer: an item that is bought in a later transaction, or
// with the last item, in the same one. Within a transaction items come in ascending order, so that
// each sequence is written in one way.
#pragma once

#include <cstdint>
#include <vector>

#include "database/transaction.h"

namespace mining {

struct Extension {
  Item item = 0;
  bool with_last = false;

  // Different for different extensions, and in their order.
  std::uint32_t code() const { return item * 2 + (with_last ? 1 : 0); }
  auto operator<=>(const Extension& other) const { return code() <=> other.code(); }
  bool operator==(const Extension& other) const = default;
};

using Sequence = std::vector<Extension>;

}  // namespace mining
