// Block prediction for pointers (ICDCS'03 3.3). It learns where the last pointers led: into a block
// in which values of their type lie at equal distances. Such a block is an array, or an array of
// records that each have one such field. The next pointer mostly leads into the same block, and its
// unit can be calculated.
//
// A prediction is learned from the Swizzler's answers, after two consecutive pointers to one block.
// Pointers to scattered blocks therefore cost nothing more. A prediction serves one translation, in
// which no block that the pointers lead to is freed.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "diff/fixed_units.h"
#include "platform/byte_order.h"
#include "platform/vector_rows.h"
#include "swizzle/swizzler.h"
#include "swizzle/wire_pointer.h"
#include "types/type.h"

namespace iw::diff {

// The two little-endian words of a pointer that travels [WIRE-5].
struct PointerWords {
  std::uint64_t block = 0;  // slot, serial
  std::uint64_t unit = 0;
};

inline PointerWords words_of(const swizzle::WirePointer& wire) {
  return {wire.slot | wire.serial << 16, wire.unit};
}
inline void store_words(const PointerWords& words, std::byte* to) {
  platform::store_little_endian(to, words.block);
  platform::store_little_endian(to + 8, words.unit);
}
inline PointerWords load_words(const std::byte* from) {
  return {platform::load_little_endian<std::uint64_t>(from),
          platform::load_little_endian<std::uint64_t>(from + 8)};
}
inline swizzle::WirePointer pointer_of(const PointerWords& words) {
  return {static_cast<std::uint16_t>(words.block & 0xFFFF), words.block >> 16, words.unit};
}

// Values at equal distances in one block, which pointers of one type may lead to.
struct Lattice {
  std::uint64_t block = 0;
  std::byte* begin = nullptr;    // of the first value
  std::size_t size_bytes = 0;    // in which values begin; 0: not known
  std::uint64_t first_unit = 0;  // of the first value
  std::uint64_t units = 0;       // in which values begin
  std::size_t stride_bytes = 1;
  std::uint64_t stride_units = 1;
  unsigned shift = 0;  // log2 of the stride in bytes, if is_power_of_two
  bool is_power_of_two = true;

  // Whether places() has the same values.
  [[nodiscard]] bool has_places() const {
    return is_power_of_two && size_bytes != 0 && last() < platform::Places::kMost &&
           stride_units <= platform::Places::kMost;
  }
  [[nodiscard]] platform::Places places() const {
    return {reinterpret_cast<std::uintptr_t>(begin),
            last() + 1,
            shift,
            block,
            first_unit,
            stride_units};
  }

 private:
  [[nodiscard]] std::uint64_t last() const { return (size_bytes - 1) >> shift; }
};

class BlockPrediction {
 public:
  explicit BlockPrediction(const types::Type* target) : target_(target) {}
  [[nodiscard]] const types::Type* target() const { return target_; }

  // Translates pointers from the first on, until one is not known; returns how many.
  std::uint64_t to_wire(Lane<const std::byte> from, Lane<std::byte> to, std::uint64_t count) const {
    const Lattice lattice = lattice_;  // a copy: stores of bytes cannot change it
    std::size_t next_offset = 0;       // expected; saves a division
    std::uint64_t index = ~std::uint64_t{0};
    std::uint64_t i = 0;
    if (count >= kLeastRow && are_side_by_side(to, from) && lattice.has_places()) {
      i = platform::addresses_to_words(lattice.places(), from.at, to.at,
                                       static_cast<std::size_t>(count));
      from = from.after(i);
      to = to.after(i);
    }
    for (; i < count; ++i) {
      const std::byte* address = nullptr;
      std::memcpy(&address, from.at, sizeof address);
      const auto offset = static_cast<std::size_t>(address - lattice.begin);
      if (offset >= lattice.size_bytes) break;
      if (lattice.is_power_of_two) {
        index = offset >> lattice.shift;
        if ((offset & (lattice.stride_bytes - 1)) != 0) break;
      } else {
        index = offset == next_offset ? index + 1 : offset / lattice.stride_bytes;
        if (index * lattice.stride_bytes != offset) break;
        next_offset = offset + lattice.stride_bytes;
      }
      store_words({lattice.block, lattice.first_unit + index * lattice.stride_units}, to.at);
      from.at += from.stride_bytes;
      to.at += to.stride_bytes;
    }
    return i;
  }
  std::uint64_t from_wire(Lane<const std::byte> from, Lane<std::byte> to,
                          std::uint64_t count) const {
    const Lattice lattice = lattice_;
    std::uint64_t next_unit = 0;
    std::uint64_t index = ~std::uint64_t{0};
    std::uint64_t i = 0;
    if (count >= kLeastRow && are_side_by_side(from, to) && lattice.has_places() &&
        lattice.stride_units == 1) {
      i = platform::words_to_addresses(lattice.places(), from.at, to.at,
                                       static_cast<std::size_t>(count));
      from = from.after(i);
      to = to.after(i);
    }
    for (; i < count; ++i) {
      const PointerWords words = load_words(from.at);
      const std::uint64_t unit = words.unit - lattice.first_unit;
      if (words.block != lattice.block || unit >= lattice.units) break;
      if (lattice.stride_units == 1) {
        index = unit;
      } else {
        index = unit == next_unit ? index + 1 : unit / lattice.stride_units;
        if (index * lattice.stride_units != unit) break;
        next_unit = unit + lattice.stride_units;
      }
      const std::byte* const address =
          lattice.begin + static_cast<std::size_t>(index) * lattice.stride_bytes;
      std::memcpy(to.at, &address, sizeof address);
      from.at += from.stride_bytes;
      to.at += to.stride_bytes;
    }
    return i;
  }

  // The Swizzler's answer for a pointer that was not known.
  void learn(const PointerWords& words, const void* address) {
    if (words.block == last_block_ && words.block != considered_) consider(words, address);
    last_block_ = words.block;
  }

 private:
  // Shorter rows are cheaper to translate one by one.
  static constexpr std::uint64_t kLeastRow = 8;

  template <typename Wire, typename Memory>
  static bool are_side_by_side(const Lane<Wire>& wire, const Lane<Memory>& memory) {
    return wire.stride_bytes == swizzle::kWirePointerBytes && memory.stride_bytes == 8 &&
           sizeof(void*) == 8;
  }
  void consider(const PointerWords& words, const void* address);

  const types::Type* target_;
  std::uint64_t last_block_ = 0;
  std::uint64_t considered_ = 0;
  Lattice lattice_;
};

// How many pointers to give to the Swizzler at once: more after each prediction that failed.
class RowLength {
 public:
  // `known`: how many pointers were predicted since the last row.
  std::size_t next(std::uint64_t known, std::uint64_t left) {
    length_ = known > length_ ? 2 : std::min(2 * length_, swizzle::Swizzler::kMostTogether);
    return static_cast<std::size_t>(std::min<std::uint64_t>(length_, left));
  }

 private:
  std::size_t length_ = 1;
};

// One for each of the types last pointed at, since the pointer fields of a record take turns.
class BlockPredictions {
 public:
  // Valid until the next call.
  BlockPrediction& for_target(const types::Type* target) {
    for (BlockPrediction& one : known_) {
      if (one.target() == target) return one;
    }
    if (known_.size() < kMost) return known_.emplace_back(target);
    BlockPrediction& oldest = known_[next_++ % kMost];
    return oldest = BlockPrediction(target);
  }

 private:
  static constexpr std::size_t kMost = 8;
  std::vector<BlockPrediction> known_;
  std::size_t next_ = 0;
};

}  // namespace iw::diff
