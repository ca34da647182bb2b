// Whether the service thread polls its descriptors for a moment before it sleeps. While a peer asks
// one thing after the other, the next question comes soon after an answer, and waking a thread
// takes longer than that.
//
// The thread polls if something came soon the last time, and no other thread wants its processor.
// A look that comes late tells of such a thread: the scheduler let it run in between. A thread that
// sleeps is let in when it wakes, one that polls takes turns with the others. So it sleeps at once
// for a while then.
//
// Time is an argument.
#pragma once

#include <algorithm>

#include "fabric/fabric.h"

namespace iw::fabric {

class Briskness {
 public:
  // A little more than two processes take that wake each other.
  static constexpr std::chrono::microseconds soon{100};
  static constexpr std::chrono::microseconds late{100};
  static constexpr std::chrono::milliseconds crowded_min{1}, crowded_max{128};

  // A turn begins: from now on the thread has nothing to do. It polls until this time.
  Deadline begin(Deadline now) {
    begun_ = looked_ = now;
    return is_brisk_ && now >= crowded_until_ ? now + soon : now;
  }
  // The thread has looked while it polls.
  void look(Deadline now) {
    if (now - looked_ >= late) note_crowd(now);
    looked_ = now;
  }
  // The turn has ended, because something came or the thread has slept long enough.
  void end(Deadline now, bool has_come) { is_brisk_ = has_come && now - begun_ < soon; }

 private:
  // Twice as long as before, unless that was long ago.
  void note_crowd(Deadline now) {
    const bool is_long_ago = now - crowded_until_ > crowded_max;
    crowded_for_ = is_long_ago ? Clock::duration(crowded_min)
                               : std::min<Clock::duration>(2 * crowded_for_, crowded_max);
    crowded_until_ = now + crowded_for_;
  }

  bool is_brisk_ = false;
  Deadline begun_{}, looked_{}, crowded_until_{};
  Clock::duration crowded_for_{0};
};

}  // namespace iw::fabric
