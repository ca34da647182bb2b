// Crashes with a message when an invariant of our own is broken, because a wrong answer would be
// worse. Use it for conditions that no input can cause. Bad input is an error (Status, or a room's
// own error type).
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
