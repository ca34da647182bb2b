#include "miner/random_case.h"

#include <set>

namespace mining {

RandomCase random_case(Random& random) {
  RandomCase one;
  const std::size_t items = 2 + random.below(5);
  const double customers_a_transaction = 0.02 + 0.4 * random.uniform();
  for (unsigned i = 0; i < 150; ++i) {
    std::set<Item> chosen{static_cast<Item>(random.below(items))};
    while (random.uniform() < 0.5) chosen.insert(static_cast<Item>(random.below(items)));
    const double customers = 1 + customers_a_transaction * i;
    one.database.push_back(
        {static_cast<std::uint32_t>(customers * random.uniform()), {chosen.begin(), chosen.end()}});
  }
  one.options.minimum_percent = 20 + 60 * random.uniform();
  one.options.kept_share = 0.7 + 0.3 * random.uniform();
  one.options.longest = 1 + random.poisson(2);
  return one;
}

}  // namespace mining
