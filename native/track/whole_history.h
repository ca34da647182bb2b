// Predicts whether an area's next release changes everything: the half of the no-diff mode of
// ICDCS'03 3.3 that saves comparing. The other half saves notices: store_forecast.h.
//
// If every release finds nearly all bytes changed, comparing costs more than it saves.
// WholeHistory then says that a release may send everything without comparing. It periodically
// observes again, to see whether the mode still pays.
#pragma once

#include <cstddef>

namespace iw::track {

class WholeHistory {
 public:
  // A release begins. True: it may take everything as changed, unless a sample contradicts.
  bool whole_next() {
    if (whole_left_ == 0) return false;
    --whole_left_;
    return true;
  }

  // The sample contradicted. The next compare decides whether the mode continues.
  void doubted() { whole_left_ = 0; }

  // A release has compared, and found so many of the bytes of all blocks changed.
  void compared(std::size_t changed_bytes, std::size_t all_bytes) {
    const bool is_whole = all_bytes > 0 && changed_bytes >= all_bytes - all_bytes / 100 * 3;
    wholes_ = is_whole ? wholes_ + 1 : 0;
    if (wholes_ < patience) return;
    whole_left_ = whole_releases;
    wholes_ = patience - 1;
  }

  static constexpr int patience = 3;
  static constexpr int whole_releases = 15;

 private:
  int wholes_ = 0;
  int whole_left_ = 0;
};

}  // namespace iw::track
