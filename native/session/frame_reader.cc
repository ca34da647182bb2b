#include "session/frame_reader.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "protocol/xdr.h"
#include "session/frame.h"

namespace iw::session {
namespace {

// "HTTP", where a length should be.
constexpr std::uint32_t http_word = 0x48545450;
// A whole control part with its head fits, and the beginning of what follows.
constexpr std::size_t scratch_bytes = frame_head_bytes + protocol::MAX_CONTROL_BYTES + 16384;
// Fewer bytes than this are not worth a receive of their own.
constexpr std::size_t in_place_bytes = 8192;
// Behind a chunk that others follow: mostly the head of the next, and little of its bulk.
constexpr std::size_t next_head_bytes = 512;

std::uint32_t load_big_endian(const std::byte* from) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(from[i]);
  return value;
}

bool is_continue(const protocol::envelope& head) {
  return head.type == static_cast<std::int32_t>(protocol::message_type::CONTINUE);
}

}  // namespace

FrameReader::FrameReader() : scratch_(scratch_bytes) {}

bool FrameReader::fail(std::string why) {
  why_ = std::move(why);
  return false;
}

std::span<const std::byte> FrameReader::unread() const {
  return {scratch_.data() + begin_, end_ - begin_};
}

platform::Space FrameReader::space() {
  if (begin_ > 0) {
    std::memmove(scratch_.data(), scratch_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  const std::span<std::byte> behind{scratch_.data() + end_, scratch_.size() - end_};
  in_place_ = end_ == 0 && chunk_left_bytes_ >= in_place_bytes;
  if (!in_place_) return {behind, {}};
  const std::span<std::byte> room = bulk_of_->bulk.room(chunk_left_bytes_);
  const std::uint64_t come_bytes = bulk_of_->bulk.size_bytes() + chunk_left_bytes_;
  const bool is_last_chunk = come_bytes == bulk_of_->head.bulk_bytes;
  return {room,
          is_last_chunk || room.empty() ? std::span<std::byte>{} : behind.first(next_head_bytes)};
}

bool FrameReader::received(std::size_t bytes, std::vector<Message>& come) {
  if (in_place_) {
    in_place_ = false;
    const std::size_t in_bulk = std::min(bytes, chunk_left_bytes_);
    bulk_of_->bulk.filled(in_bulk);
    chunk_left_bytes_ -= in_bulk;
    bytes -= in_bulk;
    if (chunk_left_bytes_ == 0) end_chunk(come);
  }
  end_ += bytes;
  return parse(come);
}

bool FrameReader::parse(std::vector<Message>& come) {
  while (begin_ < end_) {
    if (bulk_of_ != nullptr) {
      const std::size_t taken = std::min(chunk_left_bytes_, end_ - begin_);
      take_bulk(unread().first(taken));
      begin_ += taken;
      if (chunk_left_bytes_ > 0) return true;
      end_chunk(come);
      continue;
    }
    const std::span<const std::byte> bytes = unread();
    if (bytes.size() < frame_head_bytes) return true;
    const std::uint32_t control_bytes = load_big_endian(bytes.data());
    const std::uint32_t chunk_bytes = load_big_endian(bytes.data() + 4);
    if (control_bytes == http_word) {
      return fail("the peer speaks HTTP; clients use the port that the server prints as listening");
    }
    if (control_bytes > protocol::MAX_CONTROL_BYTES || chunk_bytes > protocol::MAX_CHUNK_BYTES) {
      return fail("a frame's head says " + std::to_string(control_bytes) + " and " +
                  std::to_string(chunk_bytes) + " bytes, more than the protocol allows");
    }
    if (bytes.size() < frame_head_bytes + control_bytes) return true;
    begin_ += frame_head_bytes + control_bytes;
    if (!begin_frame(bytes.subspan(frame_head_bytes, control_bytes), chunk_bytes, come)) {
      return false;
    }
  }
  return true;
}

bool FrameReader::begin_frame(std::span<const std::byte> control, std::uint32_t chunk_bytes,
                              std::vector<Message>& come) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(control.data());
  xdr::Reader reader(bytes, control.size());
  Message message;
  if (!decode(reader, message.head))
    return fail("a frame's control part does not hold an envelope");
  const std::size_t frame_bytes = frame_head_bytes + control.size() + chunk_bytes;
  if (is_continue(message.head)) {
    bulk_of_ = incomplete(message.head.stream);
    if (bulk_of_ == nullptr) return fail("a chunk continues a message that has not begun");
    if (chunk_bytes > bulk_of_->head.bulk_bytes - bulk_of_->bulk.size_bytes()) {
      return fail("a message is longer than it said");
    }
  } else {
    message.body.assign(bytes + control.size() - reader.remaining(), bytes + control.size());
    if (!begin_message(std::move(message), chunk_bytes)) return false;
  }
  bulk_of_->frame_bytes += frame_bytes;
  chunk_left_bytes_ = chunk_bytes;
  if (chunk_left_bytes_ == 0) end_chunk(come);
  return true;
}

bool FrameReader::begin_message(Message message, std::uint32_t chunk_bytes) {
  if (message.head.bulk_bytes > max_bulk_bytes_) return fail("a message is too large");
  if (chunk_bytes > message.head.bulk_bytes) return fail("a message is longer than it said");
  if (incomplete(message.head.stream) != nullptr) {
    return fail("a message begins on the stream of one that is not complete");
  }
  if (incomplete_.size() >= protocol::MAX_OPEN_STREAMS) {
    return fail("too many messages are incomplete");
  }
  incomplete_.push_back(std::move(message));
  bulk_of_ = &incomplete_.back();
  return true;
}

void FrameReader::take_bulk(std::span<const std::byte> bytes) {
  const std::span<std::byte> room = bulk_of_->bulk.room(bytes.size());
  if (room.size() < bytes.size()) throw std::bad_alloc();
  if (!bytes.empty()) std::memcpy(room.data(), bytes.data(), bytes.size());
  bulk_of_->bulk.filled(bytes.size());
  chunk_left_bytes_ -= bytes.size();
}

void FrameReader::end_chunk(std::vector<Message>& come) {
  Message* const message = std::exchange(bulk_of_, nullptr);
  if (message->bulk.size_bytes() < message->head.bulk_bytes) {
    if (message->part == Part::rest) return;
    message->part = Part::rest;
    Message& first = come.emplace_back();
    first.head = message->head;
    first.body = message->body;
    first.part = Part::first;
    return;
  }
  come.push_back(std::move(*message));
  const auto at = std::find_if(incomplete_.begin(), incomplete_.end(),
                               [message](const Message& other) { return &other == message; });
  incomplete_.erase(at);
}

Message* FrameReader::incomplete(std::uint32_t stream) {
  for (Message& message : incomplete_) {
    if (message.head.stream == stream) return &message;
  }
  return nullptr;
}

}  // namespace iw::session
