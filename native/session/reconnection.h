// When to try again to reach a server that somebody waits for: first at once, then after pauses
// that grow with each failure [CONN-1]. Time is an argument.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace iw::session {

class Reconnection {
 public:
  static constexpr std::int64_t first_pause_ns = 20'000'000;
  static constexpr std::int64_t longest_pause_ns = 2'000'000'000;

  // The next attempt may be made then.
  [[nodiscard]] std::int64_t due_ns() const { return due_ns_; }
  void failed(std::int64_t now_ns) {
    due_ns_ = now_ns + pause_ns_;
    pause_ns_ = std::min(2 * pause_ns_, longest_pause_ns);
  }
  void succeeded() { *this = {}; }

 private:
  std::int64_t due_ns_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t pause_ns_ = first_pause_ns;
};

}  // namespace iw::session
