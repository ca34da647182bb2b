// One loop per element size, compiled for several CPUs: -O3 turns each into shuffles of whole
// vectors, which makes a swap as cheap as a copy.
#include "platform/byte_order.h"

#include "platform/invariant.h"

namespace iw::platform {

namespace {

template <typename T>
[[gnu::always_inline]] inline void swap_loop(void* to, const void* from, std::size_t count) {
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, in + i * sizeof(T), sizeof value);
    value = byte_swapped(value);
    std::memcpy(out + i * sizeof(T), &value, sizeof value);
  }
}

using SwapFunction = void (*)(void*, const void*, std::size_t);

template <typename T>
void swap_portable(void* to, const void* from, std::size_t count) {
  swap_loop<T>(to, from, count);
}

// Not on Windows, where GCC keeps vectors of 32 bytes on a stack that is aligned to 16 (GCC bug
// 54412).
#if (defined(__x86_64__) || defined(__i386__)) && !defined(_WIN32)
template <typename T>
[[gnu::target("avx2")]] void swap_avx2(void* to, const void* from, std::size_t count) {
  swap_loop<T>(to, from, count);
}

template <typename T>
SwapFunction best_swap() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") ? swap_avx2<T> : swap_portable<T>;
}
#else
template <typename T>
SwapFunction best_swap() {
  return swap_portable<T>;
}
#endif

}  // namespace

void copy_swapped_16(void* to, const void* from, std::size_t count) {
  static const SwapFunction swap = best_swap<std::uint16_t>();
  swap(to, from, count);
}

void copy_swapped_32(void* to, const void* from, std::size_t count) {
  static const SwapFunction swap = best_swap<std::uint32_t>();
  swap(to, from, count);
}

void copy_swapped_64(void* to, const void* from, std::size_t count) {
  static const SwapFunction swap = best_swap<std::uint64_t>();
  swap(to, from, count);
}

void copy_little_endian(void* to, const void* from, std::size_t element_bytes, std::size_t count) {
  if (is_little_endian || element_bytes == 1) {
    std::memmove(to, from, element_bytes * count);
    return;
  }
  switch (element_bytes) {
    case 2:
      return copy_swapped_16(to, from, count);
    case 4:
      return copy_swapped_32(to, from, count);
    case 8:
      return copy_swapped_64(to, from, count);
    default:
      IW_INVARIANT(false, "elements have 1, 2, 4 or 8 bytes");
  }
}

}  // namespace iw::platform
