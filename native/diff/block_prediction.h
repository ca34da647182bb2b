// Block prediction for pointers (ICDCS'03 3.3): where the last pointers led into an array of what
// they point at, the next one mostly does, too, and its unit is a matter of arithmetic.
//
// Learned from what the Swizzler answered, after two pointers in a row to one block, so that
// pointers to scattered blocks cost nothing more. Made for one translation, in which no block that
// the pointers lead to is freed.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "diff/fixed_units.h"
#include "platform/byte_order.h"
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

class BlockPrediction {
 public:
  explicit BlockPrediction(const types::Type* target) : target_(target) {}
  [[nodiscard]] const types::Type* target() const { return target_; }

  // Translates pointers from the first on, until one is not known; returns how many.
  std::uint64_t to_wire(Lane<const std::byte> from, Lane<std::byte> to, std::uint64_t count) const {
    const Array array = array_;  // which stores of bytes cannot change
    std::uint64_t i = 0;
    for (; i < count; ++i) {
      const void* address = nullptr;
      std::memcpy(&address, from.at, sizeof address);
      const auto offset =
          static_cast<std::size_t>(static_cast<const std::byte*>(address) - array.begin);
      if (offset >= array.size_bytes) break;
      std::size_t index = offset >> array.shift;
      if (array.is_power_of_two) {
        if ((offset & (array.element_bytes - 1)) != 0) break;
      } else {
        index = offset / array.element_bytes;
        if (index * array.element_bytes != offset) break;
      }
      store_words({array.block, index * array.element_units}, to.at);
      from.at += from.stride_bytes;
      to.at += to.stride_bytes;
    }
    return i;
  }
  std::uint64_t from_wire(Lane<const std::byte> from, Lane<std::byte> to,
                          std::uint64_t count) const {
    const Array array = array_;
    std::uint64_t i = 0;
    for (; i < count; ++i) {
      const PointerWords words = load_words(from.at);
      if (words.block != array.block || words.unit >= array.units) break;
      std::uint64_t index = words.unit;
      if (array.element_units != 1) {
        index = words.unit / array.element_units;
        if (index * array.element_units != words.unit) break;
      }
      const void* const address =
          array.begin + static_cast<std::size_t>(index) * array.element_bytes;
      std::memcpy(to.at, &address, sizeof address);
      from.at += from.stride_bytes;
      to.at += to.stride_bytes;
    }
    return i;
  }

  // What the Swizzler says of a pointer that was not known.
  void learn(const PointerWords& words, const void* address) {
    if (words.block == last_block_ && words.block != considered_) consider(words, address);
    last_block_ = words.block;
  }

 private:
  void consider(const PointerWords& words, const void* address);

  const types::Type* target_;
  std::uint64_t last_block_ = 0;
  std::uint64_t considered_ = 0;
  // A block of values of the target; of no bytes and units if there is none.
  struct Array {
    std::uint64_t block = 0;
    std::byte* begin = nullptr;
    std::size_t size_bytes = 0;
    std::uint64_t units = 0;
    std::size_t element_bytes = 1;
    std::uint64_t element_units = 1;
    unsigned shift = 0;
    bool is_power_of_two = true;
  } array_;
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
