// The segment as its readers see it: plain pointers under a reader lock. No calls of the library.
#pragma once

#include <cstdint>
#include <vector>

#include "lattice.h"
#include "miner/extension.h"

namespace mining {

// An item as the lattice spells it, and back.
int as_stored(Extension extension);
Extension as_read(int stored);

// The one that all others extend.
inline bool is_empty(const pattern_t& pattern) { return pattern.extends == nullptr; }

std::uint32_t support(const lattice_t& lattice, const pattern_t& pattern);

// Those that are not are in the lattice because they were.
bool is_frequent(const lattice_t& lattice, const pattern_t& pattern);

// The sequence, or null if it is not frequent.
const pattern_t* find(const lattice_t& lattice, const Sequence& sequence);

// The items that customers with a sequence buy next.
struct Next {
  Extension extension;
  std::uint32_t customers = 0;
  double share = 0;  // of those who have the sequence
};

// The most frequent first, at most `most` of them.
std::vector<Next> next_after(const lattice_t& lattice, const pattern_t& pattern, std::size_t most);

// Different for lattices with different sequences or supports.
std::uint64_t checksum(const lattice_t& lattice);

}  // namespace mining
