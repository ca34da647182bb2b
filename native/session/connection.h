// The client's side of one connection, without its socket. It knows which requests wait for an
// answer, what was heard and when, and what must be sent to stay alive [SES-1..3, FRAME-5].
//
// Not thread safe; time is an argument. A Connection serves one connection. The session outlives
// the connection through SessionIdentity.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "protocol/session.gen.h"
#include "session/fields.h"
#include "session/frame_reader.h"
#include "session/frame_writer.h"
#include "session/opening.h"
#include "types/result.h"

namespace iw::session {

using protocol::message_type;
using types::Result;

// The part of a session that outlives its connections.
struct SessionIdentity {
  protocol::session_id id{};  // all zeros: none yet
  std::string token;
  std::string client;  // for people
  Origin origin;       // for people
};

// The name space that a server says it serves; none: it says nothing of it.
using SpaceId = std::optional<std::array<std::uint8_t, 16>>;

// Identifies the waiter for an answer; chosen by the caller, never 0.
using RequestTag = std::uint64_t;

struct Incoming {
  Message message;
  RequestTag tag = 0;  // 0: a notification
  message_type asked{};
  std::int64_t sent_ns = 0;         // when the request was sent: what its answer confirms [FRESH-2]
  ConnectionNumber connection = 0;  // on which it came

  [[nodiscard]] message_type type() const { return static_cast<message_type>(message.head.type); }
};

class Connection {
 public:
  explicit Connection(std::int64_t now_ns)
      : heard_ns_(now_ns), bytes_ns_(now_ns), said_ns_(now_ns) {}

  // The first message. Its answer is given to welcomed(). `relay`: where the server is to pass the
  // connection on to [SPACE-48]; null: nowhere.
  protocol::hello hello(const SessionIdentity& identity,
                        const protocol::redirect_field* relay = nullptr) const;
  Result welcomed(const Incoming& answer, SessionIdentity& identity);
  [[nodiscard]] const protocol::welcome& welcome() const { return welcome_; }
  [[nodiscard]] const SpaceId& space_id() const { return space_id_; }

  // A request is about to be sent: its stream number; 0 if too many are open.
  std::uint32_t begin_request(RequestTag tag, message_type type, std::int64_t now_ns);
  // It will not be sent.
  void forget_request(std::uint32_t stream) { requests_.erase(stream); }
  // The stream of an unanswered request; 0 if this tag does not have one.
  [[nodiscard]] std::uint32_t stream_of(RequestTag tag) const;
  // Notes that something was sent.
  void said(std::int64_t now_ns) { said_ns_ = now_ns; }

  platform::Space space() { return frames_.space(); }
  // Takes in `bytes` received into space(). Appends answers and notifications in their order, also
  // those of which the first frame has come. MALFORMED: the connection must end.
  Result received(std::size_t bytes, std::int64_t now_ns, std::vector<Incoming>& out);

  // When a message last began to come [FRESH-3].
  [[nodiscard]] std::int64_t heard_ns() const { return heard_ns_; }
  [[nodiscard]] std::int64_t heartbeat_ns() const;
  // When a PING must be sent, if nothing else was.
  [[nodiscard]] std::int64_t ping_due_ns() const;
  // Whether the peer was silent for so long that the connection counts as lost.
  [[nodiscard]] bool is_silent(std::int64_t now_ns) const;

 private:
  struct Request {
    RequestTag tag = 0;
    message_type type{};
    std::int64_t sent_ns = 0;
  };

  FrameReader frames_;
  std::vector<Message> come_;
  std::unordered_map<std::uint32_t, Request> requests_;
  std::uint32_t next_stream_ = 1;
  protocol::welcome welcome_;
  SpaceId space_id_;
  std::int64_t heard_ns_;
  std::int64_t bytes_ns_;  // when bytes last came
  std::int64_t said_ns_;
};

// The answer's body. Otherwise the server's ERROR, UNIMPLEMENTED, or MALFORMED for another type of
// message.
Result check_answer(const Incoming& answer, message_type wanted);

// The answer says that another server has the segment [SPACE-9, SPACE-23].
bool is_redirected(const Incoming& answer);

// Where an answer of REDIRECTED sends the client on to [SPACE-9]. False: it does not.
bool sends_on(const Incoming& answer, protocol::redirect_field& to);

template <typename Body>
Result decode_answer(const Incoming& answer, message_type wanted, Body& body) {
  if (Result checked = check_answer(answer, wanted); !checked) return checked;
  if (decoded(answer.message.body, body)) return {};
  return Result::malformed("the server's answer cannot be decoded");
}

}  // namespace iw::session
