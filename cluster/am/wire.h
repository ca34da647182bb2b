// A message's header: a Head, its words, and a word of zeroes if their number is odd [AM-2]. The
// numbers and structs are those of spec/cluster/am.x.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "am/am.gen.h"
#include "interweave/am.h"

namespace iw::am {

static_assert(words_max == AM_MAX_ARGS);

// The category of a head. It may be unknown until refuse() has checked it [AM-12].
inline Category category_of(const Head& head) { return static_cast<Category>(head.category); }

constexpr std::size_t header_bytes(std::size_t n_args) {
  return sizeof(Head) + (n_args + 1) / 2 * 2 * sizeof(std::int32_t);
}

// A message's header as it arrived.
struct HeadAndWords {
  Head head;
  const std::byte* words;
  std::int32_t word(int i) const {
    std::int32_t value;
    std::memcpy(&value, words + static_cast<std::size_t>(i) * sizeof value, sizeof value);
    return value;
  }
  std::array<int, AM_MAX_ARGS> all_words() const {
    std::array<int, AM_MAX_ARGS> all{};
    for (int i = 0; i < head.n_args; i++) all[static_cast<std::size_t>(i)] = word(i);
    return all;
  }
};

// False if the bytes are not a header [AM-2].
[[nodiscard]] inline bool read(std::span<const std::byte> header, HeadAndWords* got) {
  std::span<const std::byte> words;
  if (!fabric::read_first(header, &got->head, &words)) return false;
  got->words = words.data();
  return header.size() == header_bytes(got->head.n_args);
}

}  // namespace iw::am
