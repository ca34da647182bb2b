// Three versions of one loop. The vector ones are written with GNU vector types and per-function
// targets where the compiler's own vectorising does not find the mask instructions.
#include "platform/differing_words.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

// Not on Windows, where GCC keeps vectors of 32 bytes on a stack that is aligned to 16 (GCC bug
// 54412).
#if (defined(__x86_64__) || defined(__i386__)) && !defined(_WIN32)
#include <immintrin.h>
#define IW_HAS_X86_VECTORS 1
#endif

namespace iw::platform {

namespace {

bool portable(const std::byte* a, const std::byte* b, std::size_t count, std::uint64_t* masks) {
  std::uint64_t any = 0;
  for (std::size_t k = 0; k < count; ++k, a += bytes_per_mask, b += bytes_per_mask) {
    std::array<std::uint32_t, words_per_mask> x;
    std::array<std::uint32_t, words_per_mask> y;
    std::memcpy(x.data(), std::assume_aligned<4>(a), bytes_per_mask);
    std::memcpy(y.data(), std::assume_aligned<4>(b), bytes_per_mask);
    std::uint32_t changed_bits = 0;
    for (std::size_t i = 0; i < words_per_mask; ++i) changed_bits |= x[i] ^ y[i];
    std::uint64_t mask = 0;
    if (changed_bits != 0) {
      for (std::size_t i = 0; i < words_per_mask; ++i) {
        mask |= std::uint64_t{x[i] != y[i]} << i;
      }
    }
    masks[k] = mask;
    any |= mask;
  }
  return any != 0;
}

#if defined(IW_HAS_X86_VECTORS)

[[gnu::target("avx2")]] bool avx2(const std::byte* a, const std::byte* b, std::size_t count,
                                  std::uint64_t* masks) {
  constexpr std::size_t words = 8;
  std::uint64_t any = 0;
  for (std::size_t k = 0; k < count; ++k, a += bytes_per_mask, b += bytes_per_mask) {
    std::uint64_t equal = 0;
    for (std::size_t i = 0; i < words_per_mask / words; ++i) {
      const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a) + i);
      const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b) + i);
      const int bits = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(x, y)));
      equal |= static_cast<std::uint64_t>(bits) << (i * words);
    }
    masks[k] = ~equal;
    any |= ~equal;
  }
  return any != 0;
}

[[gnu::target("avx512f")]] bool avx512(const std::byte* a, const std::byte* b, std::size_t count,
                                       std::uint64_t* masks) {
  constexpr std::size_t words = 16;
  std::uint64_t any = 0;
  for (std::size_t k = 0; k < count; ++k, a += bytes_per_mask, b += bytes_per_mask) {
    std::uint64_t mask = 0;
    for (std::size_t i = 0; i < words_per_mask / words; ++i) {
      const __m512i x = _mm512_loadu_si512(a + i * words * 4);
      const __m512i y = _mm512_loadu_si512(b + i * words * 4);
      mask |= static_cast<std::uint64_t>(_mm512_cmpneq_epi32_mask(x, y)) << (i * words);
    }
    masks[k] = mask;
    any |= mask;
  }
  return any != 0;
}

#endif

struct Variants {
  std::array<DifferingWordsVariant, 3> list{};
  std::size_t count = 0;

  Variants() {
#if defined(IW_HAS_X86_VECTORS)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) list[count++] = {"avx512", avx512};
    if (__builtin_cpu_supports("avx2")) list[count++] = {"avx2", avx2};
#endif
    list[count++] = {"portable", portable};
  }
};

const Variants& variants() {
  static const Variants all;
  return all;
}

}  // namespace

bool differing_words(const std::byte* a, const std::byte* b, std::size_t count,
                     std::uint64_t* masks) {
  return variants().list[0].function(a, b, count, masks);
}

std::size_t differing_words_variants(const DifferingWordsVariant*& first) {
  first = variants().list.data();
  return variants().count;
}

}  // namespace iw::platform
