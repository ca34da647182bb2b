// For how long the service leaves a worker that is polled to those who poll it: shortly at first,
// so that a call now and then does not keep others from their answers; twice as long each time that
// the worker has been polled again meanwhile. Who polls all the time answers, too, and is not
// disturbed.
//
// Time is an argument.
#pragma once

#include <algorithm>

#include "fabric/fabric.h"

namespace iw::fabric {

class Leave {
 public:
  static constexpr std::chrono::microseconds shortest{50}, longest{1000};

  bool is_over(Deadline now) const { return now >= until_; }
  Deadline until() const { return until_; }
  // The worker has been polled since it was looked at.
  void prolong(Deadline now) {
    length_ = std::clamp(2 * length_, shortest, longest);
    until_ = now + length_;
  }
  // It has not.
  void end() { *this = {}; }

 private:
  std::chrono::microseconds length_{0};
  Deadline until_{};
};

}  // namespace iw::fabric
