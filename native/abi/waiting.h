// Waiting until a moment of the platform's clock, which std::chrono's clocks are not.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "platform/clock.h"

namespace iw::abi {

// May wake early, like every wait for a condition.
inline void wait_until(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
                       std::int64_t deadline_ns) {
  if (deadline_ns == platform::never_ns) {
    condition.wait(lock);
    return;
  }
  const std::int64_t left_ns = deadline_ns - platform::now_ns();
  if (left_ns > 0) condition.wait_for(lock, std::chrono::nanoseconds(left_ns));
}

inline void sleep_for(std::int64_t ns) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
}

// `seconds` from now; never for very long ones.
inline std::int64_t deadline_after(double seconds) {
  if (!(seconds < 1e9)) return platform::never_ns;
  return platform::now_ns() + static_cast<std::int64_t>(seconds * 1e9);
}

// For the server: at least 1 while there is time, all ones for never.
inline std::uint32_t milliseconds_until(std::int64_t deadline_ns) {
  if (deadline_ns == platform::never_ns) return UINT32_MAX;
  const std::int64_t left_ns = deadline_ns - platform::now_ns();
  if (left_ns <= 0) return 0;
  return static_cast<std::uint32_t>(std::min<std::int64_t>(left_ns / 1'000'000 + 1, UINT32_MAX));
}

}  // namespace iw::abi
