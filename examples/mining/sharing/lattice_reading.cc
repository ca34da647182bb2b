#include "sharing/lattice_reading.h"

#include <algorithm>

namespace mining {
namespace {

// FNV-1a, a value at a time.
std::uint64_t mixed(std::uint64_t sum, std::uint32_t value) {
  return (sum ^ value) * 0x100000001B3;
}

std::uint64_t checksum(const lattice_t& lattice, const pattern_t& pattern, std::uint64_t sum) {
  for (const pattern_t* at = pattern.extended_by; at != nullptr; at = at->next) {
    sum = mixed(sum, static_cast<std::uint32_t>(at->item));
    for (const char* c = at->text; *c != '\0'; ++c)
      sum = mixed(sum, static_cast<unsigned char>(*c));
    // A pointer back that leads elsewhere is another lattice, too.
    sum = mixed(sum, at->extends == &pattern ? support(lattice, *at) : ~0U);
    sum = checksum(lattice, *at, sum);
  }
  return sum;
}

}  // namespace

int as_stored(Extension extension) {
  const int item = static_cast<int>(extension.item);
  return extension.with_last ? -1 - item : item;
}

Extension as_read(int stored) {
  if (stored >= 0) return {static_cast<Item>(stored), false};
  return {static_cast<Item>(-1 - stored), true};
}

std::uint32_t support(const lattice_t& lattice, const pattern_t& pattern) {
  return lattice.support_base[pattern.row] + lattice.support_gain[pattern.row];
}

bool is_frequent(const lattice_t& lattice, const pattern_t& pattern) {
  return is_empty(pattern) || support(lattice, pattern) >= lattice.minimum;
}

const pattern_t* find(const lattice_t& lattice, const Sequence& sequence) {
  const pattern_t* at = lattice.root;
  for (const Extension extension : sequence) {
    const int wanted = as_stored(extension);
    at = at->extended_by;
    while (at != nullptr && at->item != wanted) at = at->next;
    if (at == nullptr) return nullptr;
  }
  return is_frequent(lattice, *at) ? at : nullptr;
}

std::vector<Next> next_after(const lattice_t& lattice, const pattern_t& pattern, std::size_t most) {
  const double having = is_empty(pattern) ? lattice.customers : support(lattice, pattern);
  std::vector<Next> all;
  for (const pattern_t* at = pattern.extended_by; at != nullptr; at = at->next) {
    if (!is_frequent(lattice, *at)) continue;
    const std::uint32_t customers = support(lattice, *at);
    all.push_back({as_read(at->item), customers, customers / having});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Next& a, const Next& b) { return a.customers > b.customers; });
  if (all.size() > most) all.resize(most);
  return all;
}

std::uint64_t checksum(const lattice_t& lattice) {
  return checksum(lattice, *lattice.root, 0xCBF29CE484222325);
}

}  // namespace mining
