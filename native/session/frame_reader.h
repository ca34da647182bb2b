// Turns the bytes of a connection into messages [FRAME-1..4]. Large bulk is received in place:
// space() then points into the message itself.
//
// Lengths are checked against the protocol's bounds before anything is kept. Memory grows with the
// received bytes, by at most one chunk ahead [FRAME-2].
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "platform/socket.h"
#include "protocol/session.gen.h"
#include "session/byte_buffer.h"

namespace iw::session {

// How much of a message has come.
enum class Part : std::uint8_t {
  whole,  // all of it, in one frame
  first,  // the first of its frames; the bulk is not here yet
  rest    // all of it; its first frame was told before
};

struct Message {
  protocol::envelope head;
  std::vector<std::uint8_t> body;  // after the envelope, not decoded
  ByteBuffer bulk;
  std::uint64_t frame_bytes = 0;  // of all its frames, for statistics
  Part part = Part::whole;
};

class FrameReader {
 public:
  FrameReader();

  // The place for the next bytes from the socket; empty without memory. While a large bulk arrives,
  // `first` is the bulk's own place and `rest` is room for the next frame's head, so one call gets
  // both.
  platform::Space space();

  // Takes in `bytes` of space() and appends the messages that are now complete, and those of which
  // the first frame is, in their order. False: the peer does not speak the protocol; why() says
  // how. After false or std::bad_alloc the connection must end.
  [[nodiscard]] bool received(std::size_t bytes, std::vector<Message>& come);
  [[nodiscard]] const std::string& why() const { return why_; }

  // WELCOME tells how large a message's bulk may be.
  void set_max_bulk_bytes(std::uint64_t bytes) { max_bulk_bytes_ = bytes; }

 private:
  bool parse(std::vector<Message>& come);
  bool begin_frame(std::span<const std::byte> control, std::uint32_t chunk_bytes,
                   std::vector<Message>& come);
  bool begin_message(Message message, std::uint32_t chunk_bytes);
  void take_bulk(std::span<const std::byte> bytes);
  void end_chunk(std::vector<Message>& come);
  [[nodiscard]] std::span<const std::byte> unread() const;
  Message* incomplete(std::uint32_t stream);
  bool fail(std::string why);

  std::vector<std::byte> scratch_;
  std::size_t begin_ = 0;  // of what is received and not parsed
  std::size_t end_ = 0;
  std::deque<Message> incomplete_;  // stable addresses
  Message* bulk_of_ = nullptr;      // whose chunk is being received
  std::size_t chunk_left_bytes_ = 0;
  bool in_place_ = false;  // space() gave out room of *bulk_of_
  std::uint64_t max_bulk_bytes_ = std::uint64_t{1} << 40;
  std::string why_;
};

}  // namespace iw::session
