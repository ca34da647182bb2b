// Whether the service serves a worker that threads poll, or leaves it to them for a while. A thread
// that polls all the time answers requests itself, and the service does not disturb it. An
// occasional call does not delay the answers to others.
//
// A poll since the last look does not tell these two apart, when the look was long ago. So after
// such a poll the worker is watched. A worker that is polled in its watch counts as polled all the
// time. It is left alone, for twice as long as before, and watched again.
//
//   state   entered when                          looked at                   served
//   none    not polled in watch or in left        when something arrives or   yes
//                                                 a wait ends
//   watch   polled in none or in left             the same, and after 50 us   after waits
//   left    polled in watch                       after up to 1 ms            no
//
// A thread that waited has what it wanted, so the service serves the worker in the watch. A program
// that polls is likely to poll again, and handles what arrives in the watch.
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

// How a worker was polled since the last look. If in both ways, it was by the program.
enum class Polled : std::uint8_t { no, in_waits, by_program };

// Counts of a worker's polls.
struct Polls {
  std::uint64_t in_waits = 0, by_program = 0;
};

class Leave {
 public:
  static constexpr std::chrono::microseconds shortest{50}, longest{1000};

  // The worker is left alone.
  bool is_on(Deadline now) const {
    return (state_ == State::left || state_ == State::watch) && now < until_;
  }
  bool is_served_watch() const { return state_ == State::served_watch; }
  // When the service looks again if nothing else makes it look.
  Deadline until() const { return state_ == State::none ? Deadline::max() : until_; }

  // The service looks at the worker. False: the worker is left alone from now on.
  // REQUIRES: it is not left alone yet.
  bool look(Deadline now, Polled polled) {
    if (polled != Polled::no) {
      prolong(now, polled);
    } else if (now >= until()) {
      state_ = State::none;
    }
    return state_ == State::none || is_served_watch();
  }
  // The worker was polled, or is in use by a thread.
  void prolong(Deadline now, Polled polled) {
    const bool was_watched = state_ == State::watch || is_served_watch();
    const State watch = polled == Polled::in_waits ? State::served_watch : State::watch;
    state_ = was_watched ? State::left : watch;
    until_ = now + (was_watched ? next_length() : shortest);
  }
  // The service has served the worker.
  void note_served() {
    if (state_ == State::none) length_ = {};
  }

 private:
  enum class State : std::uint8_t { none, watch, served_watch, left };

  // Up to a quarter shorter than the doubled length. The fractions of the golden ratio's multiples
  // say by how much: they are spread evenly, and two in a row lie far apart.
  Clock::duration next_length() {
    constexpr std::uint32_t golden = 0x9e3779b9;
    constexpr int parts_bits = 8, quarter_bits = 2;
    length_ = std::clamp<Clock::duration>(2 * length_, shortest, longest);
    part_ += golden;
    return length_ - length_ * (part_ >> (32 - parts_bits)) / (1 << (parts_bits + quarter_bits));
  }

  State state_ = State::none;
  Clock::duration length_{0};  // of the last long leave, before it is shortened
  std::uint32_t part_ = 0;
  Deadline until_{};
};

}  // namespace iw::fabric
