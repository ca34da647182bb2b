// The vectors have 32 bytes (AVX2): two stretches of 16 bytes, in which bytes are shuffled. Where
// values of a row are shorter on one side, a store writes zeros or the next value's room behind its
// values, and the next store overwrites them.
#include "platform/vector_rows.h"

#include <algorithm>
#include <cstring>

// Not on Windows, where GCC keeps vectors of 32 bytes on a stack that is aligned to 16 (GCC bug
// 54412).
#if defined(__x86_64__) && !defined(_WIN32)
#include <immintrin.h>
#define IW_HAS_X86_VECTORS 1
#endif

namespace iw::platform {

#if defined(IW_HAS_X86_VECTORS)

namespace {

constexpr std::size_t kHalf = 16;  // bytes of half a vector

bool has_avx2() {
  static const bool yes = [] {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") != 0;
  }();
  return yes;
}

// How many groups of values may be handled whose loads and stores take kHalf bytes each, but which
// are `from_bytes` and `to_bytes` apart.
std::size_t groups_within(std::size_t from_bytes, std::size_t to_bytes, std::size_t groups) {
  const auto beyond = [](std::size_t bytes) { return (kHalf - bytes + bytes - 1) / bytes; };
  const std::size_t kept = std::max(beyond(from_bytes), beyond(to_bytes));
  return groups - std::min(groups, kept);
}

[[gnu::target("avx2")]] __m256i load_halves(const std::byte* first, const std::byte* second) {
  const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(first));
  const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(second));
  return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

[[gnu::target("avx2")]] void store_halves(__m256i halves, std::byte* first, std::byte* second) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(first), _mm256_castsi256_si128(halves));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(second), _mm256_extracti128_si256(halves, 1));
}

// `control`: as for a shuffle of kHalf bytes.
[[gnu::target("avx2")]] void shuffle_groups(const std::uint8_t* control, const std::byte* from,
                                            std::size_t from_bytes, std::byte* to,
                                            std::size_t to_bytes, std::size_t groups) {
  const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(control));
  const __m256i both = _mm256_broadcastsi128_si256(half);
  std::size_t i = 0;
  for (; i + 2 <= groups; i += 2) {
    const __m256i groups_from = load_halves(from, from + from_bytes);
    store_halves(_mm256_shuffle_epi8(groups_from, both), to, to + to_bytes);
    from += 2 * from_bytes;
    to += 2 * to_bytes;
  }
  if (i == groups) return;
  const __m128i last = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(last, half));
}

// All ones from the first NUL of each char[4] on.
[[gnu::target("avx2")]] __m256i from_nul_on(__m256i strings) {
  __m256i dead = _mm256_cmpeq_epi8(strings, _mm256_setzero_si256());
  dead = _mm256_or_si256(dead, _mm256_slli_epi32(dead, 8));
  return _mm256_or_si256(dead, _mm256_slli_epi32(dead, 16));
}

[[gnu::target("avx2")]] std::size_t pack_3(const std::byte* from, std::byte* to,
                                           std::size_t count) {
  constexpr int kNone = -1;
  const __m256i packed =
      _mm256_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, kNone, kNone, kNone, kNone, 0, 1, 2,
                       4, 5, 6, 8, 9, 10, 12, 13, 14, kNone, kNone, kNone, kNone);
  std::size_t i = 0;
  // The second store ends 28 bytes behind `to`, which is in the tenth string.
  for (; i + 10 <= count; i += 8, from += 32, to += 24) {
    const __m256i strings = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i dead = from_nul_on(strings);
    // The sign of a string is that of its last byte.
    if (_mm256_movemask_ps(_mm256_castsi256_ps(dead)) != 0xFF) break;
    store_halves(_mm256_shuffle_epi8(_mm256_andnot_si256(dead, strings), packed), to, to + 12);
  }
  return i;
}

[[gnu::target("avx2")]] std::size_t check_3(const std::byte* from, std::size_t count) {
  constexpr int kNone = -1;
  const __m256i spread =
      _mm256_setr_epi8(0, 1, 2, kNone, 3, 4, 5, kNone, 6, 7, 8, kNone, 9, 10, 11, kNone, 0, 1, 2,
                       kNone, 3, 4, 5, kNone, 6, 7, 8, kNone, 9, 10, 11, kNone);
  std::size_t i = 0;
  for (; i + 10 <= count; i += 8, from += 24) {
    const __m256i strings = _mm256_shuffle_epi8(load_halves(from, from + 12), spread);
    if (_mm256_testz_si256(from_nul_on(strings), strings) == 0) break;
  }
  return i;
}

// Sign bits where a value is not from 0 to last, which is not negative.
[[gnu::target("avx2")]] __m256i outside(__m256i value, __m256i last) {
  return _mm256_or_si256(value, _mm256_sub_epi64(last, value));
}

[[gnu::target("avx2")]] __m256i all_lanes(std::uint64_t value) {
  return _mm256_set1_epi64x(static_cast<long long>(value));
}

[[gnu::target("avx2")]] bool any_sign(__m256i value) {
  return _mm256_movemask_pd(_mm256_castsi256_pd(value)) != 0;
}

[[gnu::target("avx2")]] std::size_t to_words(const Places& places, const std::byte* from,
                                             std::byte* to, std::size_t count) {
  const __m256i begin = all_lanes(places.begin);
  const __m256i last = all_lanes((places.count - 1) << places.shift);
  const __m256i between = all_lanes((std::uint64_t{1} << places.shift) - 1);
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(places.shift));
  const __m256i step = all_lanes(places.step);
  const __m256i first = all_lanes(places.first);
  const __m256i tag = all_lanes(places.tag);
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4, from += 32, to += 64) {
    const __m256i address = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i offset = _mm256_sub_epi64(address, begin);
    if (any_sign(outside(offset, last)) || _mm256_testz_si256(offset, between) == 0) break;
    const __m256i index = _mm256_srl_epi64(offset, shift);
    const __m256i number = _mm256_add_epi64(_mm256_mul_epu32(index, step), first);
    const __m256i even = _mm256_unpacklo_epi64(tag, number);
    const __m256i odd = _mm256_unpackhi_epi64(tag, number);
    auto* const out = reinterpret_cast<__m256i*>(to);
    _mm256_storeu_si256(out, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256(out + 1, _mm256_permute2x128_si256(even, odd, 0x31));
  }
  return i;
}

[[gnu::target("avx2")]] std::size_t to_addresses(const Places& places, const std::byte* from,
                                                 std::byte* to, std::size_t count) {
  const __m256i begin = all_lanes(places.begin);
  const __m256i last = all_lanes(places.count - 1);
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(places.shift));
  const __m256i first = all_lanes(places.first);
  const __m256i tag = all_lanes(places.tag);
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4, from += 64, to += 32) {
    const __m256i low = load_halves(from, from + 32);        // pointers 0 and 2
    const __m256i high = load_halves(from + 16, from + 48);  // 1 and 3
    const __m256i tags = _mm256_unpacklo_epi64(low, high);
    const __m256i index = _mm256_sub_epi64(_mm256_unpackhi_epi64(low, high), first);
    const __m256i others = _mm256_xor_si256(tags, tag);
    if (any_sign(outside(index, last)) || _mm256_testz_si256(others, others) == 0) break;
    const __m256i address = _mm256_add_epi64(_mm256_sll_epi64(index, shift), begin);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), address);
  }
  return i;
}

[[gnu::target("avx2")]] std::size_t tagged(std::uint64_t tag, const std::byte* from,
                                           std::size_t count) {
  const __m256i tags = all_lanes(tag);
  const __m256i first_word = _mm256_setr_epi64x(-1, 0, -1, 0);
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8, from += 128) {
    const auto* const row = reinterpret_cast<const __m256i*>(from);
    __m256i others = _mm256_xor_si256(_mm256_loadu_si256(row), tags);
    for (int k = 1; k < 4; ++k) {
      others = _mm256_or_si256(others, _mm256_xor_si256(_mm256_loadu_si256(row + k), tags));
    }
    if (_mm256_testz_si256(others, first_word) == 0) break;
  }
  return i;
}

// Returns whether there is a NUL among the kHalf * 2 bytes copied, and where.
[[gnu::target("avx2")]] bool copy_vector(std::byte* to, const std::byte* from, std::size_t& nul) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
  const auto nuls =
      static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_setzero_si256())));
  if (nuls == 0) return false;
  nul = static_cast<std::size_t>(__builtin_ctz(nuls));
  return true;
}

// REQUIRES: at least one vector. The last one overlaps the one before.
[[gnu::target("avx2")]] std::size_t copy_vectors(std::byte* to, const std::byte* from,
                                                 std::size_t most) {
  constexpr std::size_t kVector = 2 * kHalf;
  std::size_t nul = 0;
  std::size_t at = 0;
  for (; at + kVector <= most; at += kVector) {
    if (copy_vector(to + at, from + at, nul)) return at + nul;
  }
  if (at == most) return most;
  at = most - kVector;
  return copy_vector(to + at, from + at, nul) ? at + nul : most;
}

}  // namespace

std::size_t map_rows(const ByteMap& map, const std::byte* from, std::byte* to, std::size_t count) {
  if (!has_avx2()) return 0;
  const std::size_t together = kHalf / std::max(map.from_bytes, map.to_bytes);
  const std::size_t from_bytes = together * map.from_bytes;
  const std::size_t to_bytes = together * map.to_bytes;
  std::array<std::uint8_t, kHalf> control;
  control.fill(ByteMap::kZero);
  for (std::size_t i = 0; i < to_bytes; ++i) {
    const std::uint8_t take = map.take[i % map.to_bytes];
    if (take == ByteMap::kZero) continue;
    control[i] = static_cast<std::uint8_t>(i / map.to_bytes * map.from_bytes + take);
  }
  const std::size_t groups = groups_within(from_bytes, to_bytes, count / together);
  shuffle_groups(control.data(), from, from_bytes, to, to_bytes, groups);
  return groups * together;
}

std::size_t pack_strings_of_3(const std::byte* from, std::byte* to, std::size_t count) {
  return has_avx2() ? pack_3(from, to, count) : 0;
}

std::size_t check_strings_of_3(const std::byte* from, std::size_t count) {
  return has_avx2() ? check_3(from, count) : 0;
}

std::size_t addresses_to_words(const Places& places, const std::byte* from, std::byte* to,
                               std::size_t count) {
  return has_avx2() ? to_words(places, from, to, count) : 0;
}

std::size_t words_to_addresses(const Places& places, const std::byte* from, std::byte* to,
                               std::size_t count) {
  return has_avx2() ? to_addresses(places, from, to, count) : 0;
}

std::size_t count_tagged(std::uint64_t tag, const std::byte* from, std::size_t count) {
  return has_avx2() ? tagged(tag, from, count) : 0;
}

#else

std::size_t map_rows(const ByteMap&, const std::byte*, std::byte*, std::size_t) { return 0; }
std::size_t pack_strings_of_3(const std::byte*, std::byte*, std::size_t) { return 0; }
std::size_t check_strings_of_3(const std::byte*, std::size_t) { return 0; }
std::size_t addresses_to_words(const Places&, const std::byte*, std::byte*, std::size_t) {
  return 0;
}
std::size_t words_to_addresses(const Places&, const std::byte*, std::byte*, std::size_t) {
  return 0;
}
std::size_t count_tagged(std::uint64_t, const std::byte*, std::size_t) { return 0; }

#endif

std::size_t copy_string(std::byte* to, const std::byte* from, std::size_t most) {
#if defined(IW_HAS_X86_VECTORS)
  if (most >= 2 * kHalf && has_avx2()) return copy_vectors(to, from, most);
#endif
  const void* const nul = std::memchr(from, 0, most);
  if (nul == nullptr) return most;
  const auto length = static_cast<std::size_t>(static_cast<const std::byte*>(nul) - from);
  std::memcpy(to, from, length);
  return length;
}

}  // namespace iw::platform
