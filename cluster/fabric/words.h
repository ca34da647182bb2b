// Memory that other processes reach at the same time. A few words are moved one by one, for they
// may be words that others change by atomics meanwhile; more is moved as bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "fabric/fabric.h"

namespace iw::fabric {

inline constexpr std::size_t words_bytes_max = 64;

inline bool is_word_aligned(const std::byte* at) {
  return reinterpret_cast<std::uintptr_t>(at) % sizeof(std::uint64_t) == 0;
}

// `at` is aligned.
inline std::atomic_ref<std::uint64_t> word_at(std::byte* at) {
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(at));
}

inline bool is_words(const std::byte* at, std::size_t bytes) {
  return bytes <= words_bytes_max && bytes % sizeof(std::uint64_t) == 0 && is_word_aligned(at);
}

// Into shared memory.
inline void store(std::byte* to, Bytes from) {
  if (!is_words(to, from.size())) {
    std::memcpy(to, from.data(), from.size());
  } else {
    for (std::size_t at = 0; at < from.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t word;
      std::memcpy(&word, from.data() + at, sizeof word);
      word_at(to + at).store(word, std::memory_order_relaxed);
    }
  }
  std::atomic_thread_fence(std::memory_order_release);
}

// Out of it.
inline void load(std::byte* from, std::span<std::byte> to) {
  std::atomic_thread_fence(std::memory_order_acquire);
  if (!is_words(from, to.size())) {
    std::memcpy(to.data(), from, to.size());
    return;
  }
  for (std::size_t at = 0; at < to.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = word_at(from + at).load(std::memory_order_relaxed);
    std::memcpy(to.data() + at, &word, sizeof word);
  }
}

}  // namespace iw::fabric
