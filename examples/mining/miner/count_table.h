// Counts of extensions. A hash table that is only added to: there is one for each frequent
// sequence, most with few counts, some with thousands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "miner/extension.h"

namespace mining {

class CountTable {
 public:
  // Counts one more; returns how many there are now.
  std::uint32_t add_one(Extension extension) {
    if ((used_ + 1) * 3 > places_.size() * 2) grow();
    Place& place = places_[find(extension)];
    if (place.count == 0) {
      place.extension = extension;
      ++used_;
    }
    return ++place.count;
  }

  // visit(extension, count), in no order.
  template <typename Visit>
  void each(const Visit& visit) const {
    for (const Place& place : places_) {
      if (place.count != 0) visit(place.extension, place.count);
    }
  }

 private:
  struct Place {
    Extension extension;
    std::uint32_t count = 0;  // 0: the place is free
  };

  // There is always a free place.
  std::size_t find(Extension extension) const {
    const std::size_t mask = places_.size() - 1;
    const std::uint64_t mixed = extension.code() * std::uint64_t{0x9E3779B97F4A7C15};
    std::size_t at = static_cast<std::size_t>(mixed >> 32) & mask;
    while (places_[at].count != 0 && places_[at].extension != extension) at = (at + 1) & mask;
    return at;
  }

  void grow() {
    std::vector<Place> old(places_.empty() ? 8 : places_.size() * 2);
    old.swap(places_);
    for (const Place& place : old) {
      if (place.count != 0) places_[find(place.extension)] = place;
    }
  }

  std::vector<Place> places_;
  std::size_t used_ = 0;
};

}  // namespace mining
