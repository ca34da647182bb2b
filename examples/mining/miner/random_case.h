// For tests: databases small and full of coincidences, and what to mine in them.
#pragma once

#include "miner/miner.h"
#include "quest/random.h"

namespace mining {

struct RandomCase {
  Database database;
  MiningOptions options;
};

RandomCase random_case(Random& random);

}  // namespace mining
