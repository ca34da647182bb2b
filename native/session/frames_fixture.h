// Messages as the bytes of their frames, for tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "protocol/session.gen.h"
#include "session/frame_reader.h"
#include "session/frame_writer.h"

namespace iw::session {

using protocol::message_type;
using Bytes = std::vector<std::byte>;

// The frames of a message, as one run of bytes.
inline Bytes frames_of(FrameWriter& writer, std::size_t budget_bytes = 1 << 20) {
  Bytes bytes;
  for (auto slices = writer.next(budget_bytes); !slices.empty();
       slices = writer.next(budget_bytes)) {
    for (const Slice& slice : slices) {
      const auto* const from = static_cast<const std::byte*>(slice.data);
      bytes.insert(bytes.end(), from, from + slice.size_bytes);
    }
  }
  return bytes;
}

inline Bytes message(message_type type, std::uint32_t stream, std::span<const std::uint8_t> body,
                     const Bytes& bulk = {}) {
  const Slice slice{bulk.data(), bulk.size()};
  FrameWriter writer(type, stream, body, {&slice, 1});
  return frames_of(writer);
}

// Gives the bytes to the reader in pieces of `piece_bytes`. False: refused.
inline bool feed(FrameReader& reader, const Bytes& bytes, std::size_t piece_bytes,
                 std::vector<Message>& out) {
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t wanted = std::min(piece_bytes, bytes.size() - at);
    const std::size_t taken = reader.space().put({bytes.data() + at, wanted});
    if (!reader.received(taken, out)) return false;
    at += taken;
  }
  return true;
}

inline Bytes pattern(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
  return bytes;
}

inline Bytes frame(std::uint32_t control_bytes, std::uint32_t chunk_bytes,
                   const protocol::envelope& head, std::size_t extra_bytes = 0) {
  std::vector<std::uint8_t> raw;
  xdr::Writer writer(raw);
  writer.u32(control_bytes);
  writer.u32(chunk_bytes);
  encode(writer, head);
  raw.resize(raw.size() + extra_bytes);
  const auto* const bytes = reinterpret_cast<const std::byte*>(raw.data());
  return {bytes, bytes + raw.size()};
}

}  // namespace iw::session
