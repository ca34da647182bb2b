// A database as it grows: first one half of its transactions, then 1 % of them at a time.
#pragma once

#include <cstddef>
#include <span>

#include "database/transaction.h"

namespace mining {

inline constexpr unsigned kGrowingSteps = 50;

// Step 0 is the first half; steps 1 to kGrowingSteps add 1 % each, together the second half.
inline std::span<const Transaction> step_of(const Database& database, unsigned step) {
  const auto part = [&](std::size_t percent) { return database.size() * percent / 100; };
  const std::size_t begin = step == 0 ? 0 : part(100 - kGrowingSteps + step - 1);
  return {database.data() + begin, part(100 - kGrowingSteps + step) - begin};
}

}  // namespace mining
