// Faults on watched address ranges: the only SIGSEGV handler of the library (on Windows: its only
// vectored exception handler).
//
// Handlers run inside the signal handler. They may use atomics, memcpy and platform::protect, but
// nothing that takes a lock or memory. A fault outside every watched range, or one that its handler
// refuses, goes to the handler that was installed before ours.
#pragma once

#include <cstddef>

#include "platform/status.h"

namespace iw::platform {

enum class FaultAccess { unknown, read, write };  // unknown where the CPU does not say

// Whether a fault's address is that of the byte. s390x tells the page, alpha (without byte stores)
// the eight bytes around, and arm now and then the wrong byte of an unaligned access.
#if defined(__s390__) || defined(__alpha__) || defined(__arm__)
inline constexpr bool fault_address_is_exact = false;
#else
inline constexpr bool fault_address_is_exact = true;
#endif
// Whether the CPU says if it was a load or a store.
#if defined(_WIN32) || (defined(__linux__) && (defined(__x86_64__) || defined(__i386__)))
inline constexpr bool fault_access_is_known = true;
#else
inline constexpr bool fault_access_is_known = false;
#endif

// Returns true when the access may be tried again. `address` is exact only to the page, unless
// fault_address_is_exact.
using FaultHandler = bool (*)(void* context, std::byte* address, FaultAccess access) noexcept;

// While a watch lives, faults in its range go to its handler. After its end no handler call is
// running.
class FaultWatch {
 public:
  FaultWatch() = default;
  FaultWatch(FaultWatch&& other) noexcept;
  FaultWatch& operator=(FaultWatch&& other) noexcept;
  ~FaultWatch() { stop(); }

  // Ranges of different watches must not overlap (EEXIST).
  static Status start(std::byte* begin, std::size_t size_bytes, FaultHandler handler, void* context,
                      FaultWatch& out);
  void stop();

 private:
  std::byte* begin_ = nullptr;
};

// Puts our handler on top again and chains to the others, because other software (a JVM, Python's
// faulthandler) may have installed its own after ours. Cheap; called at each writer lock.
Status keep_fault_handler_on_top();

}  // namespace iw::platform
