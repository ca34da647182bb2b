// What is mined: transactions, that is sets of items that customers bought together, in the order
// in which they were made.
#pragma once

#include <cstdint>
#include <vector>

namespace mining {

using Item = std::uint32_t;
inline constexpr Item kLargestItem = 9'999;  // the lattice spells them with four digits
using ItemSet = std::vector<Item>;           // ascending, each once

struct Transaction {
  std::uint32_t customer;
  ItemSet items;
};

using Database = std::vector<Transaction>;

}  // namespace mining
