#include "session/connection.h"

#include "protocol/error.gen.h"

namespace iw::session {
namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr std::uint32_t notification_bit = 0x80000000U;
// More than the server will ever be asked at once by one process.
constexpr std::size_t max_requests = 65536;
// Heartbeats missed before the connection is taken for lost.
constexpr std::int64_t patience_heartbeats = 5;

// A server of version 1 takes the hello of this version for something else [SES-5].
Result refused_hello(Result said) {
  if (said.code != protocol::error_code::NOT_OPEN) return said;
  return {protocol::error_code::VERSION_MISMATCH,
          "this client speaks protocol versions " + std::to_string(protocol::PROTOCOL_VERSION_MIN) +
              " to " + std::to_string(protocol::PROTOCOL_VERSION_MAX) +
              "; the server does not understand its hello, as servers of version 1 do not; update "
              "the older program (the server said: " +
              said.text + ")"};
}

// An ERROR in either of its forms [SES-5].
bool read_error(std::span<const std::uint8_t> body, protocol::error_reply& error) {
  if (decoded(body, error)) return true;
  protocol::plain_error plain;
  if (!decoded(body, plain)) return false;
  error = {plain.code, std::move(plain.text), {}};
  return true;
}

// What the server said, as it may be shown [FIELD-8], and where to ask instead [FIELD-9].
Result said_by(protocol::error_reply error) {
  protocol::redirect_field to;
  bool is_there = false;
  if (Result checked = check_fields(error.fields); !checked) return checked;
  if (Result found = find_field(error.fields, protocol::field_key::FIELD_REDIRECT, to, is_there);
      !found) {
    return found;
  }
  error.text = readable(std::move(error.text));
  if (is_there) error.text += "; ask the server at " + readable(to.address);
  return {error.code, std::move(error.text)};
}

}  // namespace

protocol::hello Connection::hello(const SessionIdentity& identity,
                                  const protocol::redirect_field* relay) const {
  protocol::hello hello;
  hello.magic = {'I', 'W', 'V', '1'};
  hello.version_min = protocol::PROTOCOL_VERSION_MIN;
  hello.version_max = protocol::PROTOCOL_VERSION_MAX;
  hello.session = identity.id;
  hello.token = identity.token;
  hello.client = identity.client;
  hello.fields = origin_fields(identity.origin);
  hello.fields.push_back(keeping_field());
  hello.fields.push_back(moving_field());
  if (relay != nullptr) hello.fields.push_back(relay_field(*relay));
  return hello;
}

Result Connection::welcomed(const Incoming& answer, SessionIdentity& identity) {
  if (answer.type() == message_type::GOODBYE) {
    return {protocol::error_code::STOPPING, "the server is about to stop"};
  }
  if (Result decoded = decode_answer(answer, message_type::WELCOME, welcome_); !decoded) {
    return answer.type() == message_type::ERROR ? refused_hello(std::move(decoded)) : decoded;
  }
  if (Result checked = check_fields(welcome_.fields); !checked) return checked;
  if (welcome_.version < protocol::PROTOCOL_VERSION_MIN ||
      welcome_.version > protocol::PROTOCOL_VERSION_MAX) {
    return {protocol::error_code::VERSION_MISMATCH, "the server chose version " +
                                                        std::to_string(welcome_.version) +
                                                        " of the protocol, which was not offered"};
  }
  if (welcome_.heartbeat_ms == 0 || welcome_.session_lease_ms == 0) {
    return Result::malformed("the server's welcome has no heartbeat or lease");
  }
  protocol::id_field space;
  bool has_space = false;
  if (Result found =
          find_field(welcome_.fields, protocol::field_key::FIELD_SPACE_ID, space, has_space);
      !found) {
    return found;
  }
  if (has_space) space_id_ = space.id;
  identity.id = welcome_.session;
  frames_.set_max_bulk_bytes(welcome_.max_diff_bytes);
  return {};
}

std::uint32_t Connection::begin_request(RequestTag tag, message_type type, std::int64_t now_ns) {
  if (requests_.size() >= max_requests) return 0;
  while (next_stream_ == 0 || requests_.count(next_stream_) != 0) {
    next_stream_ = (next_stream_ + 1) & ~notification_bit;
  }
  const std::uint32_t stream = next_stream_;
  next_stream_ = (next_stream_ + 1) & ~notification_bit;
  requests_[stream] = {tag, type, now_ns};
  said_ns_ = now_ns;
  return stream;
}

Result Connection::received(std::size_t bytes, std::int64_t now_ns, std::vector<Incoming>& out) {
  come_.clear();
  const bool good = frames_.received(bytes, come_);
  bytes_ns_ = now_ns;
  for (Message& message : come_) {
    Incoming incoming;
    // The server may have begun other messages before the frames that follow a first one.
    if (message.part != Part::rest) heard_ns_ = now_ns;
    if ((message.head.stream & notification_bit) == 0) {
      const auto request = requests_.find(message.head.stream);
      if (request == requests_.end()) {
        // Stream 0: the server says why it is about to close the connection.
        incoming.message = std::move(message);
        const Result said = check_answer(incoming, message_type::DONE);
        return said.ok() ? Result::malformed("the server answered what was not asked") : said;
      }
      incoming.tag = request->second.tag;
      incoming.asked = request->second.type;
      incoming.sent_ns = request->second.sent_ns;
      if (message.part != Part::first) requests_.erase(request);
    }
    incoming.message = std::move(message);
    out.push_back(std::move(incoming));
  }
  return good ? Result{}
              : Result::malformed("the server's bytes are not the protocol: " + frames_.why());
}

std::int64_t Connection::heartbeat_ns() const { return welcome_.heartbeat_ms * ns_per_ms; }

std::int64_t Connection::ping_due_ns() const {
  return said_ns_ + welcome_.session_lease_ms * ns_per_ms / 3;
}

bool Connection::is_silent(std::int64_t now_ns) const {
  return now_ns - bytes_ns_ > patience_heartbeats * heartbeat_ns();
}

std::uint32_t Connection::stream_of(RequestTag tag) const {
  for (const auto& [stream, request] : requests_) {
    if (request.tag == tag) return stream;
  }
  return 0;
}

Result check_answer(const Incoming& answer, message_type wanted) {
  if (answer.type() == wanted) return {};
  if (answer.type() == message_type::ERROR) {
    protocol::error_reply error;
    bool is_understood = false;
    try {
      is_understood = read_error(answer.message.body, error);
    } catch (const std::bad_alloc&) {
      // The code comes before the text, and says what has become of the request.
      is_understood = true;
      error.text = "no memory left";
    }
    if (!is_understood || error.code == protocol::error_code::OK) {
      // [ERR-1]: a code of a later version has no meaning here.
      return {protocol::error_code::INTERNAL, "the server answered with an error of its own"};
    }
    return said_by(std::move(error));
  }
  if (answer.type() == message_type::UNIMPLEMENTED) {
    return {protocol::error_code::UNIMPLEMENTED,
            std::string("the server does not implement ") + name_of(answer.asked)};
  }
  return Result::malformed(std::string("the server answered ") + name_of(answer.asked) + " with " +
                           name_of(answer.type()));
}

bool is_redirected(const Incoming& answer) {
  if (answer.type() != message_type::ERROR) return false;
  protocol::error_reply error;
  return read_error(answer.message.body, error) && error.code == protocol::error_code::REDIRECTED;
}

bool sends_on(const Incoming& answer, protocol::redirect_field& to) {
  if (!is_redirected(answer)) return false;
  protocol::error_reply error;
  if (!read_error(answer.message.body, error)) return false;
  bool is_there = false;
  const Result found = find_field(error.fields, protocol::field_key::FIELD_REDIRECT, to, is_there);
  return found && is_there;
}

}  // namespace iw::session
