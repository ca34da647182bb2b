#include "quest/pattern_pool.h"

#include <algorithm>

namespace mining {

Popularity::Popularity(std::size_t count, Random& random) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sums_.push_back(sum += random.exponential(1));
}

std::size_t Popularity::draw(Random& random) const {
  const double at = random.uniform() * sums_.back();
  return static_cast<std::size_t>(std::upper_bound(sums_.begin(), sums_.end(), at) - sums_.begin());
}

PatternPool::PatternPool(const QuestOptions& options, Random& random)
    : of_items_(options.items, random),
      sets_(make(options.item_set_patterns, options.item_set_size, of_items_, options.items,
                 options, random)),
      of_sets_(options.item_set_patterns, random),
      sequences_(make(options.sequence_patterns, options.sequence_length, of_sets_,
                      options.item_set_patterns, options, random)),
      of_sequences_(options.sequence_patterns, random) {}

std::vector<PatternPool::Pattern> PatternPool::make(std::size_t count, double mean_size,
                                                    const Popularity& of_parts,
                                                    std::size_t kinds_of_parts,
                                                    const QuestOptions& options, Random& random) {
  std::vector<Pattern> patterns;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size =
        std::min<std::size_t>(1 + random.poisson(mean_size - 1), kinds_of_parts);
    Parts parts;
    const auto add = [&](std::uint32_t part) {
      if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(part);
    };
    if (i != 0) {
      const Parts& before = patterns.back().parts;
      const double wanted = static_cast<double>(size) * random.exponential(options.correlation);
      const auto copied = std::min({static_cast<std::size_t>(wanted + 0.5), size, before.size()});
      for (std::size_t k = 0; k < copied; ++k) add(before[k]);
    }
    while (parts.size() < size) add(static_cast<std::uint32_t>(of_parts.draw(random)));
    patterns.push_back(
        {std::move(parts), random.normal(options.confidence_mean, options.confidence_deviation)});
  }
  return patterns;
}

PatternPool::Parts PatternPool::with_some_left_out(const Pattern& pattern, Random& random) {
  Parts parts = pattern.parts;
  while (!parts.empty() && random.uniform() > pattern.confidence) {
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(random.below(parts.size())));
  }
  return parts;
}

std::vector<ItemSet> PatternPool::draw(Random& random) const {
  std::vector<ItemSet> sequence;
  const Pattern& drawn = sequences_[of_sequences_.draw(random)];
  for (const std::uint32_t index : with_some_left_out(drawn, random)) {
    ItemSet items = with_some_left_out(sets_[index], random);
    if (!items.empty()) sequence.push_back(std::move(items));
  }
  return sequence;
}

}  // namespace mining
