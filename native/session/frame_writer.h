// Splits a message into frames [FRAME-1, FRAME-3]: heads of its own and slices of the bulk. The
// bulk is not copied and must live until everything is sent. Frames of several messages may be
// interleaved on a connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "platform/socket.h"
#include "protocol/session.gen.h"

namespace iw::session {

using platform::Slice;

class FrameWriter {
 public:
  // `body` is encoded already.
  FrameWriter(protocol::message_type type, std::uint32_t stream, std::span<const std::uint8_t> body,
              std::span<const Slice> bulk);
  FrameWriter(const FrameWriter&) = delete;
  FrameWriter& operator=(const FrameWriter&) = delete;

  // The next frames, up to about `budget_bytes` of bulk, to be sent together and in order; empty
  // when all were given.
  std::span<const Slice> next(std::size_t budget_bytes);

  [[nodiscard]] std::uint64_t bulk_bytes() const { return bulk_bytes_; }
  // Of all frames with their heads.
  [[nodiscard]] std::uint64_t frame_bytes() const { return frame_bytes_; }

 private:
  void add_frame(protocol::message_type type, std::uint32_t stream, std::uint64_t envelope_bulk,
                 std::span<const std::uint8_t> body, std::uint32_t chunk_bytes);

  struct Frame {
    std::size_t end_slice = 0;
    std::size_t chunk_bytes = 0;
  };

  std::vector<std::uint8_t> heads_;  // never grows beyond what was reserved: slices point into it
  std::vector<Slice> slices_;
  std::vector<Frame> frames_;
  std::size_t next_frame_ = 0;
  std::uint64_t bulk_bytes_ = 0;
  std::uint64_t frame_bytes_ = 0;
};

// The XDR of a message's body.
template <typename Body>
std::vector<std::uint8_t> encoded(const Body& body) {
  std::vector<std::uint8_t> bytes;
  xdr::Writer writer(bytes);
  encode(writer, body);
  return bytes;
}

// False: the bytes are not a `Body`, or more than one.
template <typename Body>
[[nodiscard]] bool decoded(std::span<const std::uint8_t> bytes, Body& body) {
  xdr::Reader reader(bytes.data(), bytes.size());
  return decode(reader, body) && reader.finish();
}

}  // namespace iw::session
