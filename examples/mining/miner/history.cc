#include "miner/history.h"

#include <algorithm>

namespace mining {

void History::add(const ItemSet& items) {
  const auto before = static_cast<std::ptrdiff_t>(occurrences_.size());
  for (const Item item : items) occurrences_.push_back({item, size()});
  std::inplace_merge(occurrences_.begin(), occurrences_.begin() + before, occurrences_.end());
  transactions_.push_back(items);
}

std::span<const History::Occurrence> History::occurrences_after(Item item,
                                                                std::int32_t transaction) const {
  const auto begin =
      std::lower_bound(occurrences_.begin(), occurrences_.end(), Occurrence{item, transaction + 1});
  auto end = begin;
  while (end != occurrences_.end() && end->item == item) ++end;
  return {begin, end};
}

std::int32_t History::first_after(Item item, std::int32_t transaction) const {
  return std::lower_bound(occurrences_.begin(), occurrences_.end(),
                          Occurrence{item, transaction + 1})
      ->transaction;
}

std::int32_t History::first_among(Item item, const Ends& ends) const {
  return *std::find_if(ends.begin(), ends.end(), [&](std::int32_t end) {
    return std::binary_search(items_of(end).begin(), items_of(end).end(), item);
  });
}

void History::extend(const Ends& ends, Extension extension, Ends& out) const {
  out.clear();
  const std::int32_t after = extension.with_last ? ends.front() - 1 : ends.front();
  for (const Occurrence& found : occurrences_after(extension.item, after)) {
    if (!extension.with_last || std::binary_search(ends.begin(), ends.end(), found.transaction)) {
      out.push_back(found.transaction);
    }
  }
}

}  // namespace mining
