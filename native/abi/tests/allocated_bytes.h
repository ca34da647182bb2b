// How much of the C library's heap this process uses, where the C library tells.
#pragma once

#include <cstddef>
#include <thread>

#include "platform/clock.h"

#if defined(__GLIBC__) && defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#include <malloc.h>
#define IW_HAS_MALLINFO
#endif

namespace iw::test {

#if defined(IW_HAS_MALLINFO)
inline constexpr bool can_count_allocated_bytes = true;
inline std::size_t allocated_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}
#else
inline constexpr bool can_count_allocated_bytes = false;
inline std::size_t allocated_bytes() { return 0; }
#endif

// The library's thread may still be about to free the last of it.
inline bool falls_below(std::size_t bytes) {
  const std::int64_t deadline_ns = platform::now_ns() + 10'000'000'000;
  while (allocated_bytes() >= bytes) {
    if (platform::now_ns() > deadline_ns) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace iw::test
