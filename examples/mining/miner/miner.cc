#include "miner/miner.h"

#include <algorithm>
#include <cmath>

namespace mining {
namespace {

const Item* last_item(const FrequentSequence& sequence) {
  return sequence.length == 0 ? nullptr : &sequence.last.item;
}

// From the first item on.
Sequence spelled(const FrequentSequence& sequence) {
  Sequence out;
  for (const auto* at = &sequence; at->length != 0; at = at->prefix) out.push_back(at->last);
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

Miner::Miner(const MiningOptions& options) : options_(options) {}

Changes Miner::add(std::span<const Transaction> transactions) {
  Changes changes;
  const auto grown = append(transactions);
  // Customers only ever become more, so the minimum never falls: what was below it and gained
  // nothing stays below.
  const double minimum = static_cast<double>(customers()) * options_.minimum_percent / 100;
  minimum_ = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(std::ceil(minimum)));
  kept_from_ = static_cast<std::uint32_t>(std::ceil(minimum_ * options_.kept_share));
  candidates_.clear();
  for (const auto& [customer, size_before] : grown) {
    count_growth(root_, histories_[customer], kBeforeAll, size_before);
  }
  sequences_ = 0;
  remove_rare(root_, changes);
  for (const Candidate& candidate : std::exchange(candidates_, {})) {
    Sequence path = spelled(*candidate.prefix);
    path.push_back(candidate.extension);
    add_sequence(*candidate.prefix, candidate.extension, project(path), changes);
  }
  number_rows(changes);
  return changes;
}

std::map<Miner::Customer, std::int32_t> Miner::append(std::span<const Transaction> transactions) {
  std::map<Customer, std::int32_t> grown;
  for (const Transaction& transaction : transactions) {
    const auto [at, is_new] = customer_of_number_.try_emplace(
        transaction.customer, static_cast<Customer>(histories_.size()));
    const Customer customer = at->second;
    if (is_new) histories_.emplace_back();
    History& history = histories_[customer];
    grown.try_emplace(customer, history.size());
    for (const Item item : transaction.items) {
      if (!history.has(item)) customers_of_item_[item].push_back(customer);
    }
    history.add(transaction.items);
  }
  transactions_ += transactions.size();
  return grown;
}

void Miner::count_growth(FrequentSequence& sequence, const History& history, const Ends& ends,
                         std::int32_t size_before) {
  if (sequence.length == options_.longest) return;
  history.each_extension(ends, last_item(sequence), size_before, [&](Extension extension) {
    // One without a sequence was below the minimum, so that it gets there at most once a step.
    if (sequence.counts.add_one(extension) == minimum_ &&
        !sequence.extensions.contains(extension)) {
      candidates_.push_back({&sequence, extension});
    }
  });
  Ends longer;
  for (auto& [extension, child] : sequence.extensions) {
    history.extend(ends, extension, longer);
    if (longer.empty()) continue;
    if (longer.front() >= size_before) ++child->support;
    count_growth(*child, history, longer, size_before);
  }
}

void Miner::remove_rare(FrequentSequence& sequence, Changes& changes) {
  for (auto at = sequence.extensions.begin(); at != sequence.extensions.end();) {
    if (at->second->support >= kept_from_) {
      if (at->second->support >= minimum_) ++sequences_;
      remove_rare(*at->second, changes);
      ++at;
      continue;
    }
    give_rows_back(*at->second);
    changes.removed.push_back(std::move(at->second));
    at = sequence.extensions.erase(at);
  }
}

void Miner::give_rows_back(const FrequentSequence& sequence) {
  free_rows_.push_back(sequence.row);
  for (const auto& [extension, child] : sequence.extensions) give_rows_back(*child);
}

Miner::Projection Miner::project(const Sequence& path) const {
  const auto buyers = [&](Extension one) -> const std::vector<Customer>& {
    return customers_of_item_.at(one.item);
  };
  const Extension rarest = *std::min_element(
      path.begin(), path.end(),
      [&](Extension a, Extension b) { return buyers(a).size() < buyers(b).size(); });
  Projection found{buyers(rarest), std::vector<Ends>(buyers(rarest).size(), kBeforeAll)};
  for (const Extension extension : path) found = project(found, extension);
  return found;
}

Miner::Projection Miner::project(const Projection& prefix, Extension extension) const {
  Projection longer;
  Ends ends;
  for (std::size_t i = 0; i < prefix.customers.size(); ++i) {
    histories_[prefix.customers[i]].extend(prefix.ends[i], extension, ends);
    if (ends.empty()) continue;
    longer.customers.push_back(prefix.customers[i]);
    longer.ends.push_back(ends);
  }
  return longer;
}

void Miner::number_rows(Changes& changes) {
  // A prefix is at least as frequent as its extensions, so it still comes first.
  std::stable_sort(
      changes.added.begin(), changes.added.end(),
      [](const FrequentSequence* a, const FrequentSequence* b) { return a->support > b->support; });
  for (FrequentSequence* sequence : changes.added) {
    if (free_rows_.empty()) {
      sequence->row = static_cast<std::uint32_t>(rows_++);
    } else {
      sequence->row = free_rows_.back();
      free_rows_.pop_back();
    }
  }
}

void Miner::add_sequence(FrequentSequence& prefix, Extension extension,
                         const Projection& projection, Changes& changes) {
  auto& place = prefix.extensions[extension];
  place = std::make_unique<FrequentSequence>();
  FrequentSequence& sequence = *place;
  sequence.prefix = &prefix;
  sequence.last = extension;
  sequence.length = prefix.length + 1;
  sequence.support = static_cast<std::uint32_t>(projection.customers.size());
  ++sequences_;
  changes.added.push_back(&sequence);
  if (sequence.length == options_.longest) return;
  for (std::size_t i = 0; i < projection.customers.size(); ++i) {
    histories_[projection.customers[i]].each_extension(
        projection.ends[i], &sequence.last.item, 0,
        [&](Extension longer) { sequence.counts.add_one(longer); });
  }
  sequence.counts.each([&](Extension longer, std::uint32_t count) {
    if (count >= minimum_) add_sequence(sequence, longer, project(projection, longer), changes);
  });
}

}  // namespace mining
