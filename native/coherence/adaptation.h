// Chooses between polling and notification [POLL-1]. A copy that is read often and changes seldom
// is cheaper to watch at the server. A copy that changes more often than it is read is cheaper to
// ask about.
#pragma once

namespace iw::coherence {

class Adaptation {
 public:
  // An acquire asked and the copy was up to date, or was not.
  void asked(bool up_to_date) {
    up_to_date_ = up_to_date ? up_to_date_ + 1 : 0;
    if (up_to_date_ >= patience) wants_ = true;
  }
  // The reader took the lock (asked or not).
  void acquired() { notified_ = 0; }
  // The server sent a notification.
  void notified() {
    if (++notified_ < patience) return;
    wants_ = false;
    up_to_date_ = 0;
    notified_ = 0;
  }

  [[nodiscard]] bool wants_subscription() const { return wants_; }

  // Calls `see` with every field, for simulations.
  template <typename See>
  void describe(See&& see) const {
    see(up_to_date_, notified_, wants_);
  }

  static constexpr int patience = 3;

 private:
  int up_to_date_ = 0;
  int notified_ = 0;
  bool wants_ = false;
};

}  // namespace iw::coherence
