// The time for which the service leaves a polled worker to the threads that poll it. A thread that
// polls all the time answers requests itself, and the service does not disturb it. An occasional
// call does not delay the answers to others.
//
// A poll since the last look does not tell these two apart, when the look was long ago. So each
// long leave is followed by a short one, the watch. A worker that is polled in its watch counts as
// polled all the time, and is left alone for twice as long as before. The service serves any other
// worker after the watch.
//
//   state   entered when                           next look   polled since    not polled since
//   none    served, waited on, or new              at once     watch           served: none
//   watch   polled in none or in long              50 us       long, doubled   served: none
//   long    polled in watch                        to 1 ms     watch           served: none
//
// Long leaves differ in length. Else a program whose calls come as regularly as the watches could
// make one in every watch.
//
// Time is an argument.
#pragma once

#include <algorithm>
#include <cstdint>

#include "fabric/fabric.h"

namespace iw::fabric {

class Leave {
 public:
  static constexpr std::chrono::microseconds shortest{50}, longest{1000};

  bool is_over(Deadline now) const { return now >= until_; }
  Deadline until() const { return until_; }
  // The worker has been polled since it was looked at.
  void prolong(Deadline now) {
    is_watch_ = !is_watch_;
    until_ = now + (is_watch_ ? shortest : next_length());
  }
  // It has not.
  void end() {
    is_watch_ = false;
    length_ = {};
    until_ = {};
  }

 private:
  // Up to a quarter shorter than the doubled length. The fractions of the golden ratio's multiples
  // say by how much: they are spread evenly, and two in a row lie far apart.
  Clock::duration next_length() {
    constexpr std::uint32_t golden = 0x9e3779b9;
    constexpr int parts_bits = 8, quarter_bits = 2;
    length_ = std::clamp<Clock::duration>(2 * length_, shortest, longest);
    part_ += golden;
    return length_ - length_ * (part_ >> (32 - parts_bits)) / (1 << (parts_bits + quarter_bits));
  }

  bool is_watch_ = false;
  Clock::duration length_{0};  // of the last long leave, before it is shortened
  std::uint32_t part_ = 0;
  Deadline until_{};
};

}  // namespace iw::fabric
