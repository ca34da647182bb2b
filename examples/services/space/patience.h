// Looking again and again at shared memory that another will change: at first at once, then after
// the others had the processor, and at last after pauses of up to a millisecond.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace services {

class Patience {
 public:
  void pause() {
    if (++looks_ < looks_at_once) return;
    if (looks_ < looks_with_yield) return std::this_thread::yield();
    std::this_thread::sleep_for(length_);
    length_ = std::min(2 * length_, std::chrono::microseconds(1000));
  }

 private:
  static constexpr int looks_at_once = 100, looks_with_yield = 200;
  int looks_ = 0;
  std::chrono::microseconds length_{10};
};

}  // namespace services
