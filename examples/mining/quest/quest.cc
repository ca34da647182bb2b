#include "quest/quest.h"

#include <algorithm>
#include <set>
#include <utility>

#include "quest/pattern_pool.h"
#include "quest/random.h"

namespace mining {
namespace {

std::size_t items_in(const std::vector<ItemSet>& sequence) {
  std::size_t count = 0;
  for (const ItemSet& items : sequence) count += items.size();
  return count;
}

// To `count` items, from the first on.
void shorten(std::vector<ItemSet>& sequence, std::size_t count) {
  for (ItemSet& items : sequence) {
    items.resize(std::min(items.size(), count));
    count -= items.size();
  }
  std::erase_if(sequence, [](const ItemSet& items) { return items.empty(); });
}

class Customers {
 public:
  explicit Customers(const QuestOptions& options)
      : options_(options), random_(options.seed), pool_(options, random_) {}

  // The transactions of the next customer, at least one.
  std::vector<ItemSet> next() {
    std::vector<std::set<Item>> slots(1 + random_.poisson(options_.transactions_per_customer - 1));
    std::size_t wanted = 0;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      wanted += 1 + random_.poisson(options_.items_per_transaction - 1);
    }
    for (std::size_t placed = 0; placed < wanted;) {
      std::vector<ItemSet> sequence = take();
      const bool fits = placed + items_in(sequence) <= wanted;
      if (!fits && placed != 0) {
        // Left to the next customer half the time, otherwise bought as far as there is room.
        if (random_.uniform() < 0.5) {
          pushed_on_ = std::move(sequence);
          break;
        }
        shorten(sequence, wanted - placed);
      }
      placed += items_in(sequence);
      if (sequence.size() > slots.size()) sequence.resize(slots.size());
      place(sequence, slots);
    }
    return without_empty(slots);
  }

 private:
  std::vector<ItemSet> take() {
    while (pushed_on_.empty()) pushed_on_ = pool_.draw(random_);
    return std::exchange(pushed_on_, {});
  }

  // Into slots of their own, at random, in the sequence's order.
  void place(const std::vector<ItemSet>& sequence, std::vector<std::set<Item>>& slots) {
    std::set<std::size_t> chosen;
    while (chosen.size() < sequence.size()) chosen.insert(random_.below(slots.size()));
    auto slot = chosen.begin();
    for (const ItemSet& items : sequence) slots[*slot++].insert(items.begin(), items.end());
  }

  static std::vector<ItemSet> without_empty(const std::vector<std::set<Item>>& slots) {
    std::vector<ItemSet> out;
    for (const std::set<Item>& slot : slots) {
      if (!slot.empty()) out.emplace_back(slot.begin(), slot.end());
    }
    return out;
  }

  QuestOptions options_;
  Random random_;
  PatternPool pool_;
  std::vector<ItemSet> pushed_on_;
};

}  // namespace

Database make_quest_database(const QuestOptions& options) {
  Database database;
  Customers customers(options);
  for (std::uint32_t customer = 0; customer < options.customers; ++customer) {
    for (ItemSet& items : customers.next()) database.push_back({customer, std::move(items)});
  }
  return database;
}

}  // namespace mining
