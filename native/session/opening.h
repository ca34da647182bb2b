// Whether a segment is open: in this process, which counts its openings, and at the server, which
// knows it by connection [OPEN-1, OPEN-2]. One table of states serves opening, closing, reopening
// after a lost connection, and the loss of the segment.
//
// Pure: events go in and the next step comes out, without a mutex, a clock or a socket. The owner
// guards the object by a mutex, takes each Step without the mutex, and reports the result. One
// thread at a time opens or closes; the others wait for the next change.
#pragma once

#include <compare>
#include <cstdint>

namespace iw::session {

// A connection of this process, each another one; 0: none.
using ConnectionNumber = std::uint64_t;

class Opening {
 public:
  enum class Stage : std::uint8_t {
    shut,     // nobody has it open; the server knows of nothing
    opening,  // one thread has sent OPEN_SEGMENT
    open,     // on connection()
    away,     // wanted, but open on no connection
    closing,  // one thread drops the copy and sends CLOSE_SEGMENT
    lost,     // the server came back without it, or it was removed; for good
  };

  enum class Step : std::uint8_t {
    ready,     // it is open on that connection
    wait,      // another thread opens or closes it: ask again after the next change
    send,      // send OPEN_SEGMENT, then say opened(), refused() or vanished()
    not_open,  // nobody has it open
    lost,      // SEGMENT_LOST or REMOVED
  };

  enum class Close : std::uint8_t {
    counted,   // others have it open
    last,      // close(): see that no thread is inside, then say end().
               // end(): drop the copy; while must_tell(), do so; then say ended()
    wait,      // another thread reopens it: ask again after the next change
    not_open,  // it was closed as often as it was opened
  };

  // ---- a thread wants it, now that there is the connection `live` ----
  // To open it. When ready: joined(), in the same moment. A lost segment is waited for while
  // must_tell(), because the one that takes its place sends OPEN_SEGMENT [OPEN-2].
  [[nodiscard]] Step open(ConnectionNumber live);
  void joined() { ++users_; }
  // Pointers lead to it: opened, but counted by nobody. When ready: pointed_at().
  [[nodiscard]] Step open_for_pointers(ConnectionNumber live) { return open(live); }
  void pointed_at() { is_pointed_at_ = true; }
  // A request is to be sent about it.
  [[nodiscard]] Step use(ConnectionNumber live);

  // ---- what came of OPEN_SEGMENT, by the thread that sent it ----
  void opened(ConnectionNumber live);
  void refused();
  // The server does not have what the copy has [LOST-1]; if it granted the opening, say opened()
  // before. Also called by a thread that applies an update [LOST-2], and when the segment was
  // removed [GONE-1]. As after end(): while must_tell(), do so.
  void vanished();

  // ---- closing ----
  [[nodiscard]] Close close();
  // No other thread is inside, and none gets in before ended().
  [[nodiscard]] Close end();
  // True: it is open on a connection for nobody. As after end(), without a copy.
  [[nodiscard]] bool end_unwanted();
  // Whether CLOSE_SEGMENT must be sent on connection(), followed by told(). Otherwise the server
  // does not have the segment open.
  [[nodiscard]] bool must_tell() const { return connection_ != 0; }
  // CLOSE_SEGMENT is on its way there, or the connection is gone.
  void told(ConnectionNumber on);
  void ended();

  // ---- what comes by itself ----
  // A connection is gone. True: the segment was open on it.
  bool connection_lost(ConnectionNumber gone);
  // OPEN_SEGMENT was granted on `live` after its sender had given it up. True: nobody wants it; as
  // after end(), without a copy.
  [[nodiscard]] bool opened_late(ConnectionNumber live);

  [[nodiscard]] Stage stage() const { return stage_; }
  [[nodiscard]] bool is_lost() const { return stage_ == Stage::lost; }
  [[nodiscard]] bool is_open() const { return stage_ == Stage::open; }
  // The connection on which the server has the segment open; 0: none.
  [[nodiscard]] ConnectionNumber connection() const { return connection_; }
  [[nodiscard]] std::uint32_t users() const { return users_; }
  [[nodiscard]] bool is_wanted() const { return users_ > 0 || is_pointed_at_; }

  friend auto operator<=>(const Opening&, const Opening&) = default;

 private:
  Step on(ConnectionNumber live);

  Stage stage_ = Stage::shut;
  bool is_pointed_at_ = false;
  std::uint32_t users_ = 0;
  ConnectionNumber connection_ = 0;
};

}  // namespace iw::session
