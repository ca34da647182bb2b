// The client's requests to watch a copy, one at a time. While a SUBSCRIBE is unanswered, or an
// UNSUBSCRIBE is not yet on the wire, no other request is sent. A second request could overtake the
// first, and the copy would count as watched while the server watches nothing [NOT-5].
//
// CopyState keeps what the server has promised. Guarded by the segment's mutex.
#pragma once

#include <optional>

#include "coherence/freshness.h"

namespace iw::session {

// The content of a SUBSCRIBE.
struct Watch {
  coherence::Bound promise;
  bool push = false;  // the diffs, too
};

class Subscription {
 public:
  // A SUBSCRIBE is to be sent.
  [[nodiscard]] bool lacks(const Watch& wanted,
                           const std::optional<coherence::Bound>& promised) const {
    if (is_changing_) return false;
    return promised != wanted.promise || (wanted.push && !asked_.push);
  }
  // It is about to be sent.
  void subscribing(const Watch& wanted) {
    asked_ = wanted;
    is_changing_ = may_be_watched_ = true;
  }
  // UNSUBSCRIBE is about to be sent.
  void unsubscribing() { is_changing_ = true; }
  // SUBSCRIBE was granted; or it was refused, or a request could not be sent, and the server
  // watches as before.
  void settled() { is_changing_ = false; }
  // The server watches nothing: UNSUBSCRIBE is on the wire, or the connection is another.
  void ended() { is_changing_ = may_be_watched_ = false; }

  [[nodiscard]] bool is_changing() const { return is_changing_; }
  [[nodiscard]] bool may_be_watched() const { return may_be_watched_; }
  [[nodiscard]] const Watch& asked() const { return asked_; }

  // Calls `see` with every field, for simulations.
  template <typename See>
  void describe(See&& see) const {
    see(asked_.promise.model, asked_.promise.x, asked_.push, is_changing_, may_be_watched_);
  }

 private:
  Watch asked_;
  bool is_changing_ = false;
  bool may_be_watched_ = false;
};

}  // namespace iw::session
