// What one customer bought so far, and where a sequence occurs in it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "database/transaction.h"
#include "miner/extension.h"

namespace mining {

// Where a sequence may end in a history: ascending numbers of the transactions that hold all items
// of its last transaction, while those before lie in earlier transactions. Empty: it does not
// occur. The first is where it is complete for the first time, which growth of the history does not
// change.
using Ends = std::vector<std::int32_t>;

// Of the empty sequence: before the first transaction.
inline const Ends kBeforeAll{-1};

class History {
 public:
  void add(const ItemSet& items);
  std::int32_t size() const { return static_cast<std::int32_t>(transactions_.size()); }

  bool has(Item item) const { return !occurrences_after(item, -1).empty(); }

  // The ends of the sequence with ends `ends` after one more step.
  void extend(const Ends& ends, Extension extension, Ends& out) const;

  // visit(extension), once, for each extension of the sequence with ends `ends` and last item
  // `last` (null: the empty sequence) that occurs, but not in the first `from` transactions alone.
  template <typename Visit>
  void each_extension(const Ends& ends, const Item* last, std::int32_t from,
                      const Visit& visit) const {
    if (from <= ends.front() + 1) {
      each_later_item(ends.front(), visit);
    } else {
      each_newly_later_item(ends.front(), from, visit);
    }
    if (last != nullptr) each_companion(ends, *last, from, visit);
  }

 private:
  // One item in one transaction.
  struct Occurrence {
    Item item;
    std::int32_t transaction;
    auto operator<=>(const Occurrence&) const = default;
  };

  template <typename Visit>
  void each_later_item(std::int32_t end, const Visit& visit) const {
    for (auto at = occurrences_.begin(); at != occurrences_.end(); ++at) {
      const auto next = at + 1;
      const bool is_last = next == occurrences_.end() || next->item != at->item;
      if (is_last && at->transaction > end) visit(Extension{at->item, false});
    }
  }

  // Bought after `end` for the first time at `from` or later.
  template <typename Visit>
  void each_newly_later_item(std::int32_t end, std::int32_t from, const Visit& visit) const {
    for (std::int32_t t = from; t < size(); ++t) {
      for (const Item item : items_of(t)) {
        if (first_after(item, end) == t) visit(Extension{item, false});
      }
    }
  }

  // Bought together with `last` at one of the ends, for the first time at `from` or later.
  template <typename Visit>
  void each_companion(const Ends& ends, Item last, std::int32_t from, const Visit& visit) const {
    for (auto end = std::lower_bound(ends.begin(), ends.end(), from); end != ends.end(); ++end) {
      const ItemSet& items = items_of(*end);
      for (auto item = std::upper_bound(items.begin(), items.end(), last); item != items.end();
           ++item) {
        if (first_among(*item, ends) == *end) visit(Extension{*item, true});
      }
    }
  }

  const ItemSet& items_of(std::int32_t t) const {
    return transactions_[static_cast<std::size_t>(t)];
  }
  std::span<const Occurrence> occurrences_after(Item item, std::int32_t transaction) const;
  std::int32_t first_after(Item item, std::int32_t transaction) const;
  // The first of `ends` whose transaction has the item; it exists.
  std::int32_t first_among(Item item, const Ends& ends) const;

  std::vector<ItemSet> transactions_;
  std::vector<Occurrence> occurrences_;  // of all items, ascending
};

}  // namespace mining
