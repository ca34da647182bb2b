#include "miner/simple_miner.h"

#include <algorithm>
#include <cmath>

namespace mining {
namespace {

using Purchases = std::vector<const ItemSet*>;  // of one customer
using Customers = std::vector<const Purchases*>;

// A sequence as sets of items, one a transaction.
std::vector<ItemSet> as_sets(const Sequence& sequence) {
  std::vector<ItemSet> sets;
  for (const Extension& step : sequence) {
    if (!step.with_last) sets.emplace_back();
    sets.back().push_back(step.item);
  }
  return sets;
}

bool has_all(const ItemSet& items, const ItemSet& wanted) {
  return std::includes(items.begin(), items.end(), wanted.begin(), wanted.end());
}

// How many purchases it takes until all sets have been bought, one after another.
std::size_t purchases_until(const Purchases& purchases, std::span<const ItemSet> sets) {
  std::size_t at = 0;
  for (const ItemSet& set : sets) {
    while (at < purchases.size() && !has_all(*purchases[at], set)) ++at;
    ++at;
  }
  return at;
}

class SimpleMiner {
 public:
  SimpleMiner(std::uint32_t minimum, unsigned longest, Item items)
      : minimum_(minimum), longest_(longest), counts_(items * 2), seen_(items * 2) {}

  // `customers` are those who have the sequence.
  void mine(const Customers& customers, const Sequence& sequence, Supports& found) {
    if (sequence.size() == longest_) return;
    std::fill(counts_.begin(), counts_.end(), 0);
    const auto sets = as_sets(sequence);
    for (const Purchases* purchases : customers) {
      ++customer_;
      each_extension(*purchases, sets, [&](std::uint32_t code) { ++counts_[code]; });
    }
    std::vector<std::uint32_t> frequent;
    for (std::uint32_t code = 0; code < counts_.size(); ++code) {
      if (counts_[code] >= minimum_) frequent.push_back(code);
    }
    for (const std::uint32_t code : frequent) {
      Sequence longer = sequence;
      longer.push_back({code / 2, code % 2 != 0});
      const Customers those = who_have(customers, as_sets(longer));
      found[longer] = static_cast<std::uint32_t>(those.size());
      mine(those, longer, found);
    }
  }

 private:
  static Customers who_have(const Customers& customers, const std::vector<ItemSet>& sets) {
    Customers out;
    std::copy_if(customers.begin(), customers.end(), std::back_inserter(out),
                 [&](const Purchases* one) { return purchases_until(*one, sets) <= one->size(); });
    return out;
  }

  template <typename Visit>
  void each_extension(const Purchases& purchases, std::span<const ItemSet> sets,
                      const Visit& visit) {
    const auto once = [&](std::uint32_t code) {
      if (seen_[code] == customer_) return;
      seen_[code] = customer_;
      visit(code);
    };
    for (std::size_t i = purchases_until(purchases, sets); i < purchases.size(); ++i) {
      for (const Item item : *purchases[i]) once(item * 2);
    }
    if (sets.empty()) return;
    const std::size_t before = purchases_until(purchases, sets.first(sets.size() - 1));
    for (std::size_t i = before; i < purchases.size(); ++i) {
      if (!has_all(*purchases[i], sets.back())) continue;
      for (const Item item : *purchases[i]) {
        if (item > sets.back().back()) once(item * 2 + 1);
      }
    }
  }

  std::uint32_t minimum_;
  unsigned longest_;
  std::vector<std::uint32_t> counts_;  // by code
  std::vector<std::uint64_t> seen_;    // the last customer who has the extension
  std::uint64_t customer_ = 0;
};

}  // namespace

Supports mine_from_scratch(std::span<const Transaction> transactions,
                           const MiningOptions& options) {
  std::map<std::uint32_t, Purchases> purchases;
  Item items = 0;
  for (const Transaction& transaction : transactions) {
    purchases[transaction.customer].push_back(&transaction.items);
    for (const Item item : transaction.items) items = std::max(items, item + 1);
  }
  Customers customers;
  for (const auto& [number, one] : purchases) customers.push_back(&one);
  const auto share = static_cast<double>(customers.size()) * options.minimum_percent / 100;
  const auto minimum = std::max(1U, static_cast<std::uint32_t>(std::ceil(share)));
  Supports found;
  SimpleMiner(minimum, options.longest, items).mine(customers, {}, found);
  return found;
}

}  // namespace mining
