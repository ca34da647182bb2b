// The beginnings of extents in one subsegment. One bit stands for each 16 bytes, and one bit of
// each higher level for 64 bits of the level below. The nearest beginning before or after a place
// is therefore found in a few steps, however far it is. Takes 1/128 of the memory that it
// describes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace iw::memory {

class StartBits {
 public:
  static constexpr std::size_t none = ~std::size_t{0};

  explicit StartBits(std::size_t count);

  void set(std::size_t at);
  void clear(std::size_t at);
  // The last one at or before `at`, the first one at or after it.
  [[nodiscard]] std::size_t previous(std::size_t at) const noexcept;
  [[nodiscard]] std::size_t next(std::size_t at) const noexcept;

  [[nodiscard]] std::size_t bytes() const;

 private:
  using Word = std::uint64_t;
  static constexpr std::size_t max_levels = 6;  // 64^6 places

  std::array<std::vector<Word>, max_levels> levels_;
  std::size_t level_count_ = 0;
};

}  // namespace iw::memory
