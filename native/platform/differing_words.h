// The inner loop of finding changes: which 4-byte words of two buffers differ. The fastest of
// AVX-512, AVX2 and portable code is chosen once, by what the CPU has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace iw::platform {

inline constexpr std::size_t words_per_mask = 64;
inline constexpr std::size_t bytes_per_mask = 4 * words_per_mask;

// For each of `count` stretches of bytes_per_mask bytes: bit i of masks[k] says whether word i of
// stretch k differs. Both buffers are aligned to 4 bytes. Returns whether any word differs.
bool differing_words(const std::byte* a, const std::byte* b, std::size_t count,
                     std::uint64_t* masks);

// The implementations that this CPU can run, the preferred one first (for tests).
struct DifferingWordsVariant {
  const char* name;
  bool (*function)(const std::byte*, const std::byte*, std::size_t, std::uint64_t*);
};
std::size_t differing_words_variants(const DifferingWordsVariant*& first);

}  // namespace iw::platform
