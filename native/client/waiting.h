// Waiting until a moment of the platform's clock, which std::chrono's clocks are not: for a
// condition, for one's turn.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include "platform/clock.h"
#include "platform/mutex.h"
#include "session/patience.h"

namespace iw::client {

using platform::MutexLock;
using platform::MutexUnlock;
using session::scarcity_pause_ns;

// May wake early, like every wait for a condition.
inline void wait_until(platform::Condition& condition, platform::Mutex& mutex,
                       std::int64_t deadline_ns) IW_REQUIRES(mutex) {
  if (deadline_ns == platform::never_ns) {
    condition.wait(mutex);
    return;
  }
  const std::int64_t left_ns = deadline_ns - platform::now_ns();
  if (left_ns > 0) condition.wait_for(mutex, std::chrono::nanoseconds(left_ns));
}

// One thread at a time, as with a mutex, that is waited for until a deadline only.
class Turn {
 public:
  // False: the deadline came first.
  bool take(std::int64_t deadline_ns) {
    const MutexLock lock(mutex_);
    while (is_taken_) {
      if (platform::now_ns() >= deadline_ns) return false;
      wait_until(given_back_, mutex_, deadline_ns);
    }
    is_taken_ = true;
    return true;
  }
  void give_back() {
    const MutexLock lock(mutex_);
    is_taken_ = false;
    given_back_.notify_one();
  }

 private:
  platform::Mutex mutex_;
  platform::Condition given_back_;
  bool is_taken_ IW_GUARDED_BY(mutex_) = false;
};

// A turn that was taken, until the end of the scope.
class TakenTurn {
 public:
  explicit TakenTurn(Turn& turn) : turn_(turn) {}
  ~TakenTurn() { turn_.give_back(); }
  TakenTurn(const TakenTurn&) = delete;
  TakenTurn& operator=(const TakenTurn&) = delete;

 private:
  Turn& turn_;
};

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

}  // namespace iw::client
