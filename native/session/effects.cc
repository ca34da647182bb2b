#include "session/effects.h"

#include <algorithm>

#include "platform/invariant.h"
#include "protocol/lock.gen.h"
#include "protocol/notify.gen.h"
#include "protocol/session.gen.h"
#include "session/frame_writer.h"

namespace iw::session {

namespace {

using Kind = Effect::Kind;

// How many bytes of diffs the server may send by itself before they are used.
constexpr std::uint64_t push_window_bytes = 8 << 20;

std::vector<std::uint8_t> subscribe_body(const Effect& effect) {
  protocol::subscribe wanted;
  wanted.segment = effect.segment;
  wanted.have = effect.have;
  wanted.model = effect.watch.promise.model;
  wanted.x = effect.watch.promise.x;
  wanted.push = effect.watch.push;
  wanted.push_bytes = effect.watch.push ? push_window_bytes : 0;
  return encoded(wanted);
}

}  // namespace

protocol::message_type type_of(Kind kind) {
  using protocol::message_type;
  switch (kind) {
    case Kind::subscribe:
      return message_type::SUBSCRIBE;
    case Kind::unsubscribe:
      return message_type::UNSUBSCRIBE;
    case Kind::renew_writer:
      return message_type::RENEW_WRITER;
    case Kind::abort_writer:
      return message_type::ABORT_WRITER;
    case Kind::release_reader:
      return message_type::RELEASE_READER;
    case Kind::credit:
      return message_type::CREDIT;
    case Kind::close_segment:
      return message_type::CLOSE_SEGMENT;
    case Kind::wake:
    case Kind::look_again:
      break;
  }
  return message_type::ERROR;  // not a message
}

std::vector<std::uint8_t> body_of(const Effect& effect) {
  switch (effect.kind) {
    case Kind::subscribe:
      return subscribe_body(effect);
    case Kind::unsubscribe:
      return encoded(protocol::unsubscribe{effect.segment});
    case Kind::renew_writer:
      return encoded(protocol::renew_writer{effect.segment, effect.value});
    case Kind::abort_writer:
      return encoded(protocol::abort_writer{effect.segment, effect.value});
    case Kind::release_reader:
      return encoded(protocol::release_reader{effect.segment});
    case Kind::credit:
      return encoded(protocol::credit{effect.segment, effect.value});
    case Kind::close_segment:
      return encoded(protocol::close_segment{effect.segment});
    case Kind::wake:
    case Kind::look_again:
      break;
  }
  return {};
}

void Effects::add(const Effect& effect) {
  const auto is_same = [&effect](const Effect& other) { return other.kind == effect.kind; };
  const auto from = all_.begin() + static_cast<std::ptrdiff_t>(next_);
  const auto to = all_.begin() + static_cast<std::ptrdiff_t>(end_);
  if (!effect.is_message() && std::any_of(from, to, is_same)) return;
  IW_INVARIANT(end_ < most, "a conversation has more effects than its buffer takes");
  all_[end_++] = effect;
}

bool Effects::take(Effect& out) {
  if (is_empty()) return false;
  out = all_[next_++];
  if (is_empty()) next_ = end_ = 0;
  return true;
}

}  // namespace iw::session
