#include "session/release.h"

namespace iw::session {

namespace {

using Code = protocol::error_code;
using Next = Release::Next;

// The segment does not exist any more, for this process or at the server.
bool is_segment_gone(Code code) {
  return code == Code::SEGMENT_LOST || code == Code::NO_SEGMENT || code == Code::REMOVED ||
         code == Code::NOT_OPEN;
}

// The server refuses for now, and the same release may be sent later.
bool may_pass(Code code) {
  return code == Code::STORE_FULL || code == Code::STORE_ALONE || code == Code::STORE_AWAY ||
         code == Code::TIMED_OUT;
}

Next after_answer(Code code) {
  switch (code) {
    case Code::OK:
      return Next::committed;
    case Code::STOPPING:
      return Next::pause;
    case Code::REDIRECTED:
      return Next::again;
    case Code::TOO_LARGE:
      return Next::held;
    case Code::UNREACHABLE:
      return Next::unknown;
    default:
      return may_pass(code) ? Next::held : Next::rolled_back;
  }
}

Next after_resolve(Code code) {
  switch (code) {
    case Code::OK:
      return Next::committed;
    case Code::UNREACHABLE:
      return Next::unknown;
    case Code::ROLLED_BACK:
      return Next::rolled_back;
    default:
      return is_segment_gone(code) ? Next::rolled_back : Next::pause;
  }
}

}  // namespace

void Release::number(const protocol::session_id& session, std::uint64_t sequence,
                     std::int64_t now_ns) {
  session_ = session;
  since_ns_ = now_ns;
  sequence_ = sequence;
}

Release::Way Release::way(const protocol::session_id& session) const {
  if (session == session_) return Way::send;
  return was_sent_ ? Way::resolve : Way::none;
}

Release::Next Release::after(Attempt attempt, Code code, bool is_over) const {
  Next next = Next::pause;
  switch (attempt) {
    case Attempt::reach:
      next = after_reach(code);
      break;
    case Attempt::send:
      next = after_send(code);
      break;
    case Attempt::answered:
      next = after_answer(code);
      break;
    case Attempt::resolve:
      next = after_resolve(code);
      break;
  }
  if (!is_over || (next != Next::again && next != Next::pause)) return next;
  return was_sent_ ? Next::unknown : Next::rolled_back;
}

Release::Next Release::after_send(Code code) const {
  if (code == Code::UNREACHABLE) return Next::again;
  return code == Code::NO_MEMORY && !was_sent_ ? Next::unsent : Next::pause;
}

Release::Next Release::after_reach(Code code) const {
  if (is_segment_gone(code)) return Next::rolled_back;
  if (was_sent_) return code == Code::UNREACHABLE ? Next::unknown : Next::pause;
  if (code == Code::NO_MEMORY) return Next::unsent;
  return may_pass(code) ? Next::held : Next::rolled_back;
}

}  // namespace iw::session
