// Whether a thread that waits for something polls for a moment before it sleeps. While a peer
// answers soon, or asks one thing after the other, the next thing comes soon, and waking a thread
// takes longer than that.
//
// The thread polls if something came soon in the last turns, and no other thread wants its
// processor. A poll that found nothing was a waste: twice as many such turns are needed from then
// on, and half as many after each poll that paid. So where one thing in two comes late, the thread
// soon polls seldom.
//
// A look that comes late tells of a thread that wants the processor: the scheduler let it run in
// between. A thread that sleeps is let in when it wakes, one that polls takes turns with the
// others. So it sleeps at once for a while then.
//
// Time is an argument, in nanoseconds. One thread at a time uses it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace iw::platform {

class Briskness {
 public:
  static constexpr std::int64_t late_ns = 100'000;
  static constexpr std::int64_t crowded_min_ns = 1'000'000, crowded_max_ns = 128'000'000;
  static constexpr int most_turns = 64;

  // The longest time of a poll; 0: never poll.
  explicit Briskness(std::int64_t soon_ns) : soon_ns_(soon_ns) {}

  [[nodiscard]] bool may_poll() const { return soon_ns_ > 0; }

  // A turn begins: from now on the thread has nothing to do. It polls until this time.
  std::int64_t begin(std::int64_t now_ns) {
    begun_ns_ = looked_ns_ = now_ns;
    is_polling_ = may_poll() && soon_turns_ >= needed_turns_ && now_ns >= crowded_until_ns_;
    return is_polling_ ? now_ns + soon_ns_ : now_ns;
  }
  // The thread has looked while it polls.
  void look(std::int64_t now_ns) {
    if (now_ns - looked_ns_ >= late_ns) note_crowd(now_ns);
    looked_ns_ = now_ns;
  }
  // The turn has ended, because something came or the thread has slept long enough.
  void end(std::int64_t now_ns, bool has_come) {
    const bool is_soon = has_come && now_ns - begun_ns_ < soon_ns_;
    if (is_polling_) {
      needed_turns_ =
          is_soon ? std::max(1, needed_turns_ / 2) : std::min(2 * needed_turns_, most_turns);
    }
    soon_turns_ = is_soon ? std::min(soon_turns_ + 1, most_turns) : 0;
  }

 private:
  // Twice as long as before, unless that was long ago.
  void note_crowd(std::int64_t now_ns) {
    const bool is_long_ago = now_ns - crowded_until_ns_ > crowded_max_ns;
    crowded_for_ns_ = is_long_ago ? crowded_min_ns : std::min(2 * crowded_for_ns_, crowded_max_ns);
    crowded_until_ns_ = now_ns + crowded_for_ns_;
    is_polling_ = false;  // what the poll was worth is not known
  }

  std::int64_t soon_ns_;
  bool is_polling_ = false;
  int soon_turns_ = 0;    // in a row, the last ones
  int needed_turns_ = 1;  // of them before a poll
  std::int64_t begun_ns_ = 0, looked_ns_ = 0, crowded_until_ns_ = 0, crowded_for_ns_ = 0;
};

}  // namespace iw::platform
