// All frequent sequences of a database, from scratch and without any cleverness: the measure of the
// miner. Shares nothing with it but the types.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "miner/miner.h"

namespace mining {

using Supports = std::map<Sequence, std::uint32_t>;

Supports mine_from_scratch(std::span<const Transaction> transactions, const MiningOptions& options);

}  // namespace mining
