// The fate of one release: what is done after each attempt to send it, or to learn what became of
// it, and what the copy does in the end [LOCK-8, LOCK-9, CONN-4].
//
// Pure: the session and error codes go in, and the next step comes out. The driver makes the
// attempts, one after the other. It counts the time, and says whether the deadline has passed.
//
// The table. "Sent" means that some connection took the whole message; the server may then have
// committed it. Only the session that sent the release may send it again.
//
//   attempt           outcome                     not sent            sent
//   reach a server    it cannot be reached        rolled_back         unknown
//                     the segment is gone         rolled_back         rolled_back
//                     NO_MEMORY                   unsent              pause
//                     STORE_FULL, STORE_ALONE,
//                     STORE_AWAY, TIMED_OUT       held                pause
//                     any other error             rolled_back         pause
//   (reached)         by the same session         send                send
//                     by another session          rolled_back         resolve
//   send              the connection was lost     again               again
//                     NO_MEMORY                   unsent              pause
//   answered          STOPPING                    -                   pause
//                     REDIRECTED                  -                   again
//                     OK                          -                   committed
//                     STORE_FULL, STORE_ALONE,
//                     STORE_AWAY, TIMED_OUT,
//                     TOO_LARGE                   -                   held
//                     UNREACHABLE                 -                   unknown
//                     any other error             -                   rolled_back
//   resolve           committed, rolled back      -                   committed, rolled_back
//                     UNREACHABLE                 -                   unknown
//                     the segment is gone         -                   rolled_back
//                     any other error             -                   pause
//
// When the deadline has passed, again and pause become unknown if the release was sent, otherwise
// rolled_back.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "protocol/error.gen.h"
#include "protocol/session.gen.h"

namespace iw::session {

class Release {
 public:
  using Code = protocol::error_code;

  enum class Attempt : std::uint8_t { reach, send, answered, resolve };
  enum class Way : std::uint8_t {
    send,     // send it, perhaps once more, with the same sequence number
    resolve,  // send RESOLVE_RELEASE
    none,     // its session has ended, and it was never sent: Next::rolled_back
  };
  enum class Next : std::uint8_t {
    again,        // at once
    pause,        // after a pause
    committed,    // the pristine copy takes the changes
    held,         // the server refused it for now; the lock is still held
    unsent,       // there was no memory to send it; lock held
    rolled_back,  // the changes are undone
    unknown,      // it may have been committed: the copy is fetched anew
  };

  void begin() { *this = {}; }
  [[nodiscard]] bool has_sequence() const { return sequence_ != 0; }
  // It is about to be sent for the first time.
  void number(const protocol::session_id& session, std::uint64_t sequence, std::int64_t now_ns);

  // On a connection of this session.
  [[nodiscard]] Way way(const protocol::session_id& session) const;
  // `whole`: a connection took all of the message.
  void sent(bool whole) { was_sent_ = was_sent_ || whole; }
  // The outcome of an attempt. `is_over`: the deadline has passed.
  [[nodiscard]] Next after(Attempt attempt, Code code, bool is_over) const;

  [[nodiscard]] bool was_sent() const { return was_sent_; }
  [[nodiscard]] const protocol::session_id& session() const { return session_; }
  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }
  // The time just before the release was first sent; it was not committed then. An answer to a
  // later attempt confirms the version as of this time: others may have written since [FRESH-2].
  [[nodiscard]] std::int64_t since_ns() const { return since_ns_; }

  friend auto operator<=>(const Release&, const Release&) = default;

 private:
  [[nodiscard]] Next after_reach(Code code) const;
  [[nodiscard]] Next after_send(Code code) const;

  std::uint64_t sequence_ = 0;  // 0: none yet
  protocol::session_id session_{};
  std::int64_t since_ns_ = std::numeric_limits<std::int64_t>::max();
  bool was_sent_ = false;
};

}  // namespace iw::session
