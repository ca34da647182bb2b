#include "dsm/protocol/diff_store.h"

#include <algorithm>

namespace iw::dsm {

void DiffStore::keep(PageNumber page, KeptDiff diff) {
  const auto [found, is_new] = pages_.try_emplace(page);
  bytes_ += bytes_of(diff) + (is_new ? page_overhead_bytes : 0);
  bytes_most_ = std::max(bytes_most_, bytes_);
  order_.emplace_back(page, diff.sequence);
  count_++;
  found->second.push_back(std::move(diff));
}

std::vector<const KeptDiff*> DiffStore::find(PageNumber page, const DiffRange& range) const {
  std::vector<const KeptDiff*> found;
  const auto diffs = pages_.find(page);
  if (diffs == pages_.end()) return found;
  for (const KeptDiff& each : diffs->second) {
    if (each.sequence >= range.first && each.sequence <= range.last) found.push_back(&each);
  }
  if (found.size() != range.count) found.clear();
  return found;
}

void DiffStore::drop_sent(PageNumber page) {
  while (pages_.contains(page) && pages_[page].front().is_sent) drop_first(page);
}

void DiffStore::drop_first(PageNumber page) {
  const auto found = pages_.find(page);
  bytes_ -= bytes_of(found->second.front());
  found->second.pop_front();
  count_--;
  if (found->second.empty()) {
    bytes_ -= page_overhead_bytes;
    pages_.erase(found);
  }
  tidy_order();
}

// Mostly diffs go in the order in which they came. Others leave gaps.
void DiffStore::tidy_order() {
  while (!order_.empty() && !is_here(order_.front())) order_.pop_front();
  constexpr std::size_t few = 64;
  if (order_.size() > 2 * count_ + few) {
    std::erase_if(order_, [this](const auto& each) { return !is_here(each); });
  }
}

bool DiffStore::is_here(const std::pair<PageNumber, Sequence>& place) const {
  const auto found = pages_.find(place.first);
  return found != pages_.end() && found->second.front().sequence <= place.second;
}

}  // namespace iw::dsm
