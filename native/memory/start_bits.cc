#include "memory/start_bits.h"

#include <bit>

#include "platform/invariant.h"

namespace iw::memory {

StartBits::StartBits(std::size_t count) {
  do {
    IW_INVARIANT(level_count_ < max_levels, "a subsegment is too large for its map");
    count = (count + 63) / 64;
    levels_[level_count_++].assign(count, 0);
  } while (count > 1);
}

void StartBits::set(std::size_t at) {
  for (std::size_t level = 0; level < level_count_; ++level, at /= 64) {
    levels_[level][at / 64] |= Word{1} << (at % 64);
  }
}

void StartBits::clear(std::size_t at) {
  for (std::size_t level = 0; level < level_count_; ++level, at /= 64) {
    Word& word = levels_[level][at / 64];
    word &= ~(Word{1} << (at % 64));
    if (word != 0) return;
  }
}

std::size_t StartBits::previous(std::size_t at) const noexcept {
  if (at / 64 >= levels_[0].size()) at = levels_[0].size() * 64 - 1;
  for (std::size_t level = 0; level < level_count_; ++level) {
    const Word below = levels_[level][at / 64] & (~Word{0} >> (63 - at % 64));
    if (below != 0) {
      std::size_t found = at / 64 * 64 + 63 - static_cast<std::size_t>(std::countl_zero(below));
      while (level-- > 0) {
        found = found * 64 + 63 - static_cast<std::size_t>(std::countl_zero(levels_[level][found]));
      }
      return found;
    }
    if (at / 64 == 0) return none;
    at = at / 64 - 1;
  }
  return none;
}

std::size_t StartBits::next(std::size_t at) const noexcept {
  for (std::size_t level = 0; level < level_count_; ++level) {
    if (at / 64 >= levels_[level].size()) return none;
    const Word above = levels_[level][at / 64] & (~Word{0} << (at % 64));
    if (above != 0) {
      std::size_t found = at / 64 * 64 + static_cast<std::size_t>(std::countr_zero(above));
      while (level-- > 0) {
        found = found * 64 + static_cast<std::size_t>(std::countr_zero(levels_[level][found]));
      }
      return found;
    }
    at = at / 64 + 1;
  }
  return none;
}

std::size_t StartBits::bytes() const {
  std::size_t total = 0;
  for (const auto& level : levels_) total += level.capacity() * sizeof(Word);
  return total;
}

}  // namespace iw::memory
