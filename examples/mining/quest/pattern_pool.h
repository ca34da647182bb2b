// The patterns that synthetic customers buy: sets of items, and sequences of such sets, each with a
// popularity and a confidence (how much of it is usually bought).
#pragma once

#include <vector>

#include "quest/quest.h"
#include "quest/random.h"

namespace mining {

// Draws indices in proportion to weights that are drawn themselves, from an exponential
// distribution.
class Popularity {
 public:
  Popularity(std::size_t count, Random& random);
  std::size_t draw(Random& random) const;

 private:
  std::vector<double> sums_;  // of the weights up to each index
};

class PatternPool {
 public:
  PatternPool(const QuestOptions& options, Random& random);

  // A sequence by popularity, without what this customer leaves out; no set is empty.
  std::vector<ItemSet> draw(Random& random) const;

 private:
  using Parts = std::vector<std::uint32_t>;
  struct Pattern {
    Parts parts;  // items, or indices of sets
    double confidence;
  };

  static std::vector<Pattern> make(std::size_t count, double mean_size, const Popularity& of_parts,
                                   std::size_t kinds_of_parts, const QuestOptions& options,
                                   Random& random);
  static Parts with_some_left_out(const Pattern& pattern, Random& random);

  Popularity of_items_;
  std::vector<Pattern> sets_;
  Popularity of_sets_;
  std::vector<Pattern> sequences_;
  Popularity of_sequences_;
};

}  // namespace mining
