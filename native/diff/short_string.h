// Strings with a bound of at most 16. They travel whole, with zeros after the NUL [WIRE-2], and are
// handled as two words each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "diff/fixed_units.h"
#include "diff/format.h"
#include "platform/vector_rows.h"

namespace iw::diff {

namespace short_string_detail {

struct Words {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  friend bool operator==(const Words&, const Words&) = default;
};

// The first `bytes` bytes of a little-endian word. Loaded in parts, because a wide load that
// follows narrow stores to the same bytes costs more than all the rest.
template <std::size_t bytes>
std::uint64_t load_word(const std::byte* from) {
  if constexpr (bytes >= 8) return platform::load_little_endian<std::uint64_t>(from);
  std::uint64_t word = 0;
  if constexpr ((bytes & 4) != 0) word = platform::load_little_endian<std::uint32_t>(from);
  if constexpr ((bytes & 2) != 0) {
    word |= std::uint64_t{platform::load_little_endian<std::uint16_t>(from + (bytes & 4))}
            << (8 * (bytes & 4));
  }
  if constexpr ((bytes & 1) != 0) {
    word |= std::to_integer<std::uint64_t>(from[bytes & 6]) << (8 * (bytes & 6));
  }
  return word;
}

template <std::size_t bytes>
void store_word(std::uint64_t word, std::byte* to) {
  if constexpr (bytes >= 8) return platform::store_little_endian(to, word);
  if constexpr ((bytes & 4) != 0) {
    platform::store_little_endian(to, static_cast<std::uint32_t>(word));
  }
  if constexpr ((bytes & 2) != 0) {
    platform::store_little_endian(to + (bytes & 4),
                                  static_cast<std::uint16_t>(word >> (8 * (bytes & 4))));
  }
  if constexpr ((bytes & 1) != 0) to[bytes & 6] = static_cast<std::byte>(word >> (8 * (bytes & 6)));
}

template <std::size_t bytes>
Words load(const std::byte* from) {
  Words words;
  words.first = load_word<bytes>(from);
  if constexpr (bytes > 8) words.second = load_word<bytes - 8>(from + 8);
  return words;
}

template <std::size_t bytes>
void store(const Words& words, std::byte* to) {
  store_word<bytes>(words.first, to);
  if constexpr (bytes > 8) store_word<bytes - 8>(words.second, to + 8);
}

// All ones below the first zero byte of a little-endian word.
inline std::uint64_t before_nul(std::uint64_t word) {
  const std::uint64_t zeros = (word - 0x0101010101010101u) & ~word & 0x8080808080808080u;
  return ((zeros & (0 - zeros)) >> 7) - 1;
}

// Without what lies behind the first NUL.
inline Words up_to_nul(Words words) {
  const std::uint64_t mask = before_nul(words.first);
  words.first &= mask;
  words.second &= mask == ~std::uint64_t{0} ? before_nul(words.second) : 0;
  return words;
}

// char[4], the shortest of the usual ones, side by side: a word holds two of them.
struct Pairs {
  static constexpr std::uint64_t kLow = 0x00FFFFFF;
  static constexpr std::uint64_t kTopBits = 0x8080808080808080u;

  // Without their terminators; the upper 16 bits are zero.
  static std::uint64_t packed(std::uint64_t pair) {
    return (pair & kLow) | ((pair >> 8) & (kLow << 24));
  }
  static std::uint64_t spread(std::uint64_t six) {
    return (six & kLow) | ((six << 8) & (kLow << 32));
  }
  // Not zero where a byte is zero; exact up to the first of them.
  static std::uint64_t zeros(std::uint64_t word) {
    return (word - 0x0101010101010101u) & ~word & kTopBits;
  }
  static bool is_full(std::uint64_t pair) { return zeros(pair) == 0x8000000080000000u; }
  // Zeros from each first NUL on; false if one has none.
  static bool cut(std::uint64_t& pair) {
    constexpr std::uint64_t kSeven = 0x7F7F7F7F7F7F7F7Fu;
    std::uint64_t dead = ~(((pair & kSeven) + kSeven) | pair | kSeven) >> 7;
    dead |= (dead & 0x0001010100010101u) << 8;
    dead |= (dead & 0x0000010100000101u) << 16;
    pair &= ~(dead * 0xFF);
    constexpr std::uint64_t kTerminators = 0x0100000001000000u;
    return (dead & kTerminators) == kTerminators;
  }
};

// These functions work on strings from the first on and return how many they handled. They leave
// the last few strings, and any malformed string, to the caller.
inline std::uint64_t write_pairs(const std::byte* from, std::byte* to, std::uint64_t count) {
  std::uint64_t i = platform::pack_strings_of_3(from, to, static_cast<std::size_t>(count));
  from += 4 * i;
  to += 3 * i;
  for (; i + 4 <= count; i += 4, from += 16, to += 12) {
    auto first = platform::load_little_endian<std::uint64_t>(from);
    auto second = platform::load_little_endian<std::uint64_t>(from + 8);
    if (!Pairs::is_full(first) || !Pairs::is_full(second)) {
      if (!Pairs::cut(first) || !Pairs::cut(second)) break;
    }
    const std::uint64_t rest = Pairs::packed(second);
    platform::store_little_endian(to, Pairs::packed(first) | rest << 48);
    platform::store_little_endian(to + 8, static_cast<std::uint32_t>(rest >> 16));
  }
  return i;
}
inline std::uint64_t check_pairs(const std::byte* from, std::uint64_t count) {
  std::uint64_t i = platform::check_strings_of_3(from, static_cast<std::size_t>(count));
  from += 3 * i;
  for (; i + 8 <= count; i += 8, from += 24) {
    const auto word = [from](std::size_t n) {
      return platform::load_little_endian<std::uint64_t>(from + 8 * n);
    };
    if ((Pairs::zeros(word(0)) | Pairs::zeros(word(1)) | Pairs::zeros(word(2))) == 0) continue;
    for (std::size_t at = 0; at < 24; at += 6) {
      const std::uint64_t pair = Pairs::spread(load_word<6>(from + at));
      std::uint64_t kept = pair;
      Pairs::cut(kept);
      if (kept != pair) return i;
    }
  }
  return i;
}
inline std::uint64_t place_pairs(const std::byte* from, std::byte* to, std::uint64_t count) {
  std::uint64_t i = 0;
  for (; i + 4 <= count; i += 4, from += 12, to += 16) {
    const auto first = platform::load_little_endian<std::uint64_t>(from);
    const auto second = platform::load_little_endian<std::uint64_t>(from + 4) >> 16;
    platform::store_little_endian(to, Pairs::spread(first));
    platform::store_little_endian(to + 8, Pairs::spread(second));
  }
  return i;
}
// Each gets a zero behind its bytes.
template <std::size_t bound>
std::uint64_t place_row(const std::byte* from, std::byte* to, std::uint64_t count) {
  std::uint64_t i = 0;
  if constexpr (bound < platform::ByteMap::kMostBytes) {
    platform::ByteMap map{bound, bound + 1, {}};
    for (std::size_t byte = 0; byte < bound; ++byte) {
      map.take[byte] = static_cast<std::uint8_t>(byte);
    }
    map.take[bound] = platform::ByteMap::kZero;
    i = platform::map_rows(map, from, to, static_cast<std::size_t>(count));
  }
  if constexpr (bound == 3) i += place_pairs(from + 3 * i, to + 4 * i, count - i);
  return i;
}

// Shorter rows are cheaper to handle one by one.
constexpr std::uint64_t kLeastRow = 8;

template <typename Byte>
void skip(Lane<Byte>& lane, std::uint64_t count) {
  lane.at += static_cast<std::size_t>(count) * lane.stride_bytes;
}

// Returns true if all strings have a NUL within their bound. Otherwise `count` becomes the index of
// the first string without one.
template <std::size_t bound>
bool write(Lane<const std::byte> from, Lane<std::byte> to, std::uint64_t& count) {
  std::uint64_t i = 0;
  if (bound == 3 && count >= kLeastRow && from.stride_bytes == 4 && to.stride_bytes == 3) {
    i = write_pairs(from.at, to.at, count);
    skip(from, i);
    skip(to, i);
  }
  for (; i < count; ++i) {
    if (from.at[bound] != std::byte{0} && std::memchr(from.at, 0, bound) == nullptr) {
      count = i;
      return false;
    }
    store<bound>(up_to_nul(load<bound>(from.at)), to.at);
    from.at += from.stride_bytes;
    to.at += to.stride_bytes;
  }
  return true;
}

template <std::size_t bound>
bool check(Lane<const std::byte> from, Lane<std::byte>, std::uint64_t& count) {
  std::uint64_t wrong = 0;
  std::uint64_t i = 0;
  if (bound == 3 && count >= kLeastRow && from.stride_bytes == 3) {
    i = check_pairs(from.at, count);
    skip(from, i);
  }
  for (; i < count; ++i) {
    const Words words = load<bound>(from.at);
    const Words kept = up_to_nul(words);
    wrong |= (words.first ^ kept.first) | (words.second ^ kept.second);
    from.at += from.stride_bytes;
  }
  return wrong == 0;
}

template <std::size_t bound>
bool place(Lane<const std::byte> from, Lane<std::byte> to, std::uint64_t& count) {
  std::uint64_t i = 0;
  if (count >= kLeastRow && from.stride_bytes == bound && to.stride_bytes == bound + 1) {
    i = place_row<bound>(from.at, to.at, count);
    skip(from, i);
    skip(to, i);
  }
  for (; i < count; ++i) {
    std::memcpy(to.at, from.at, bound);
    to.at[bound] = std::byte{0};
    from.at += from.stride_bytes;
    to.at += to.stride_bytes;
  }
  return true;
}

using Loop = bool (*)(Lane<const std::byte>, Lane<std::byte>, std::uint64_t&);

enum class Work { write, check, place };

template <Work work, std::size_t... bound_less_one>
Loop loop_for(std::uint64_t bound, std::index_sequence<bound_less_one...>) {
  if constexpr (work == Work::write) {
    static constexpr Loop loops[] = {write<bound_less_one + 1>...};
    return loops[bound - 1];
  } else if constexpr (work == Work::check) {
    static constexpr Loop loops[] = {check<bound_less_one + 1>...};
    return loops[bound - 1];
  } else {
    static constexpr Loop loops[] = {place<bound_less_one + 1>...};
    return loops[bound - 1];
  }
}

}  // namespace short_string_detail

// `bound` from 1 to 16. From char[bound + 1] to bytes; false: string number `count` has no NUL.
inline bool write_short_strings(std::uint64_t bound, Lane<const std::byte> from, Lane<std::byte> to,
                                std::uint64_t& count) {
  using namespace short_string_detail;
  return loop_for<Work::write>(bound, std::make_index_sequence<kWholeStringBound>())(from, to,
                                                                                     count);
}
// Whether all are zeros behind their NUL.
inline bool check_short_strings(std::uint64_t bound, Lane<const std::byte> from,
                                std::uint64_t count) {
  using namespace short_string_detail;
  return loop_for<Work::check>(bound, std::make_index_sequence<kWholeStringBound>())(from, {},
                                                                                     count);
}
// From bytes to char[bound + 1].
inline void place_short_strings(std::uint64_t bound, Lane<const std::byte> from, Lane<std::byte> to,
                                std::uint64_t count) {
  using namespace short_string_detail;
  (void)loop_for<Work::place>(bound, std::make_index_sequence<kWholeStringBound>())(from, to,
                                                                                    count);
}

}  // namespace iw::diff
