// A broken invariant of our own is a crash with a message, never a wrong answer. Use it for what no
// input can cause; bad input is an error (Status, or a room's own error type).
#pragma once

namespace iw::platform {

[[noreturn]] void broken_invariant(const char* condition, const char* why, const char* file,
                                   int line) noexcept;

}  // namespace iw::platform

#define IW_INVARIANT(condition, why)                                         \
  do {                                                                       \
    if (!(condition)) [[unlikely]] {                                         \
      ::iw::platform::broken_invariant(#condition, why, __FILE__, __LINE__); \
    }                                                                        \
  } while (false)
