// The time for which the service leaves a polled worker to the threads that poll it. It is short at
// first, so that an occasional call does not delay the answers to others. It doubles each time the
// worker has been polled again meanwhile. A thread that polls all the time answers requests itself,
// and the service does not disturb it.
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
