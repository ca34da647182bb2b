// The addresses of a segment's parts. A walk asks for each part that it comes to whether it is one,
// which must cost little beside a load: hence a table, made anew only when blocks came or went.
#pragma once

#include <cstddef>
#include <cstdint>
#include <interweave.hpp>
#include <vector>

#include "stock.hpp"

namespace stock {

class KnownParts {
 public:
  // As of the segment's copy; a lock is held, here and below.
  void update(const iw::Segment& segment);
  // Whether a part is there. `p` may lead anywhere.
  [[nodiscard]] bool has(const part* p) const {
    std::size_t at = place_of(p);
    while (places_[at] != nullptr && places_[at] != p) at = next(at);
    return p != nullptr && places_[at] == p;
  }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  // A serial is never given twice: blocks are the same if there are as many and none is newer.
  // Unless the segment has begun anew, with a lower version.
  [[nodiscard]] bool is_up_to_date(const iw::Segment& segment) const;
  void add_block(const IW_block_t& block);
  void add(const part* one);
  void grow();

  [[nodiscard]] std::size_t place_of(const part* p) const {
    const auto bits = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(p));
    const std::uint64_t mixed = bits * std::uint64_t{0x9E3779B97F4A7C15};
    return static_cast<std::size_t>(mixed >> 32) & (places_.size() - 1);
  }
  [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & (places_.size() - 1); }

  static constexpr std::size_t kFewest = 64;  // a power of two

  std::vector<const part*> places_ = std::vector<const part*>(kFewest);  // null: free; half are
  std::size_t count_ = 0;
  std::uint64_t blocks_ = 0;
  std::uint64_t version_ = 0;
  const void* newest_ = nullptr;  // block
  std::uint64_t newest_serial_ = 0;
};

}  // namespace stock
