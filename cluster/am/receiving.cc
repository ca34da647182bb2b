// A bundle's messages as they arrive. Each is checked before it is used. A message is dropped if
// its head does not name a connection with its sender.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "am/bundle.h"

namespace iw::am {

constinit thread_local int handlers_running = 0;

namespace {

struct InHandler {
  InHandler() { handlers_running++; }
  ~InHandler() { handlers_running--; }
};

bool is_own(Kind kind) {
  return kind == Kind::acknowledge || kind == Kind::map || kind == Kind::mapped;
}

template <typename... Before>
void call(am_handler_fn fn, const HeadAndWords& got, Before... before) {
  const auto with = [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto word = [&](std::size_t i) { return got.word(static_cast<int>(i)); };
    reinterpret_cast<void (*)(Before..., decltype(word(I))...)>(fn)(before..., word(I)...);
  };
  switch (got.head.n_args) {
    case 0:
      return with(std::make_index_sequence<0>());
    case 1:
      return with(std::make_index_sequence<1>());
    case 2:
      return with(std::make_index_sequence<2>());
    case 3:
      return with(std::make_index_sequence<3>());
    case 4:
      return with(std::make_index_sequence<4>());
    case 5:
      return with(std::make_index_sequence<5>());
    case 6:
      return with(std::make_index_sequence<6>());
    case 7:
      return with(std::make_index_sequence<7>());
    default:
      return with(std::make_index_sequence<8>());
  }
}

// Whether there is a handler that a message may name. Handler 0 takes what comes back.
bool has_handler(const iw_am_endpoint& endpoint, std::uint16_t handler) {
  return handler != 0 && handler < endpoint.handlers.size() &&
         endpoint.handlers[handler] != nullptr;
}

op_t opcode(const Head& head) {
  const bool is_reply = head.kind == Kind::reply || head.kind == Kind::returned_reply;
  switch (category_of(head)) {
    case Category::words:
      return is_reply ? AM_REPLY_M : AM_REQUEST_M;
    case Category::block:
      return is_reply ? AM_REPLY_IM : AM_REQUEST_IM;
    case Category::xfer:
      return is_reply ? AM_REPLY_XFER_M : AM_REQUEST_XFER_M;
    case Category::get:
      return AM_GET_XFER_M;
  }
  return 0;
}

void call_undeliverable(const iw_am_endpoint& endpoint, int status, op_t op,
                        const am_returned_t& message) {
  if (endpoint.handlers[0] != nullptr) {
    reinterpret_cast<am_undeliverable_fn>(endpoint.handlers[0])(status, op, &message);
    return;
  }
  std::fprintf(stderr,
               "interweave: a message for handler %d came back (status %d, operation %d), and its "
               "endpoint has no handler 0\n",
               message.handler, status, op);
}

am_returned_t describe(const HeadAndWords& sent) {
  am_returned_t message{};
  message.destination = -1;
  message.handler = sent.head.handler;
  message.n_args = sent.head.n_args;
  const auto words = sent.all_words();
  std::copy(words.begin(), words.end(), message.args);
  message.offset = sent.head.offset;
  return message;
}

}  // namespace

void Bundle::queue(std::function<void()> arrival) {
  arrivals_.push_back(std::move(arrival));
  has_arrivals_ = true;
}

void Bundle::run_arrivals() {
  const InHandler mark;
  while (!arrivals_.empty()) {
    const auto arrival = std::move(arrivals_.front());
    arrivals_.pop_front();
    arrival();
  }
  has_arrivals_ = false;
}

void Bundle::on_message(void* bundle, const fabric::Message& message) {
  auto& self = *static_cast<Bundle*>(bundle);
  HeadAndWords got;
  if (!read(message.header, &got)) return;
  self.messages_received++;
  // ask_handled is answered behind the messages that wait. It waits only if there are any.
  const bool must_queue = got.head.kind == Kind::ask_handled ? self.has_arrivals()
                                                             : self.must_queue(message.by_service);
  if (must_queue && !is_own(got.head.kind)) {
    self.queue_message(message, got.head);
    return;
  }
  const InHandler mark;
  self.take(message.from, got, message.payload);
}

// Looks the connection up now, because the sender may have died before the message is handled. The
// message is handled nevertheless.
void Bundle::queue_message(const fabric::Message& message, const Head& head) {
  Connection* const connection = connection_of(message.from, head);
  if (connection == nullptr) return;
  connection->pins++;
  const auto copy = [](fabric::Bytes bytes) { return std::vector(bytes.begin(), bytes.end()); };
  queue([this, connection, header = copy(message.header), payload = copy(message.payload)] {
    HeadAndWords got;
    const bool is_open = connection->state == ConnectionState::open;
    if (is_open && read(header, &got)) take(*connection, got, payload);
    unpin(*connection);
  });
}

void Bundle::take(fabric::PeerId from, const HeadAndWords& got, std::span<const std::byte> block) {
  const Head& head = got.head;
  if (head.kind == Kind::map || head.kind == Kind::mapped) {
    Mapping mapping;
    if (!fabric::read_whole(block, &mapping)) return;
    return head.kind == Kind::map ? take_map(from, mapping) : take_mapped(from, head, mapping);
  }
  Connection* connection = connection_of(from, head);
  if (connection != nullptr) take(*connection, got, block);
}

void Bundle::take(Connection& connection, const HeadAndWords& got,
                  std::span<const std::byte> block) {
  const Head& head = got.head;
  heard(connection, head.replies_handled);
  switch (head.kind) {
    case Kind::request:
      return take_request(connection, got, block);
    case Kind::reply:
      return take_reply(connection, got, block);
    case Kind::returned_request:
      return take_returned_request(connection, head);
    case Kind::returned_reply:
      return take_returned_reply(connection, got);
    case Kind::ask_handled:
      return send_control(connection, Kind::acknowledge, Head{});
    case Kind::gone:
      return end(connection, EBADENDPOINT);
    default:
      return;
  }
}

// Releases the replies that the other end has handled.
void Bundle::heard(Connection& connection, std::uint32_t replies_handled) {
  std::uint32_t news = replies_handled - connection.replies_acknowledged;
  if (news > connection.unacknowledged.size()) return;  // more than were sent [AM-9]
  connection.replies_acknowledged = replies_handled;
  for (; news > 0; news--) release_record(connection.unacknowledged.pop());
}

// Returns why an endpoint does not take a request or a reply, or 0 if it does. The tag of a reply
// is not compared, because a reply has none [AM-11].
int Bundle::refuse(const iw_am_endpoint& endpoint, const Head& head, std::size_t nbytes) {
  const bool is_request = head.kind == Kind::request;
  const bool is_tag_right =
      endpoint.tag != AM_NONE && (endpoint.tag == AM_ALL || endpoint.tag == head.tag);
  if (is_request && !is_tag_right) return EBADTAG;
  const Category category = category_of(head);
  if (!is_known(category)) return EBADARGS;
  if (category == Category::get) {
    if (!is_request) return EBADARGS;  // a get names the handler of its reply
  } else if (!has_handler(endpoint, head.handler)) {
    return EBADHANDLER;
  } else if (category != Category::xfer) {
    return 0;
  }
  if (endpoint.segment == nullptr || head.offset > endpoint.segment_bytes) return EBADSEGOFF;
  return nbytes > endpoint.segment_bytes - head.offset ? EBADLENGTH : 0;
}

void Bundle::run_handler(Token& token, const HeadAndWords& got, std::span<const std::byte> block) {
  const iw_am_endpoint& endpoint = *token.endpoint;
  const am_handler_fn fn = endpoint.handlers[got.head.handler];
  void* const as_token = &token;
  const Category category = category_of(got.head);
  if (category == Category::words) return call(fn, got, as_token);
  void* where = const_cast<std::byte*>(block.data());
  if (category == Category::xfer) {
    where = endpoint.segment + got.head.offset;
    if (!block.empty()) std::memcpy(where, block.data(), block.size());
  }
  call(fn, got, as_token, where, block.size());
}

void Bundle::take_request(Connection& connection, const HeadAndWords& got,
                          std::span<const std::byte> block) {
  if (category_of(got.head) == Category::get) return take_get(connection, got, block);
  const int status = refuse(*connection.endpoint, got.head, block.size());
  if (status != 0) {
    Head back{};
    back.slot = got.head.slot;
    back.status = static_cast<std::uint8_t>(status);
    return send_control(connection, Kind::returned_request, back);
  }
  Token token{&connection, connection.endpoint, got.head.tag, got.head.slot, true};
  run_handler(token, got, block);
  if (token.may_reply) reply(token, {Category::words, no_handler, 0, {}, {}});
}

// Sends the bytes that a get asks for as an Xfer reply [AM-15].
void Bundle::take_get(Connection& connection, const HeadAndWords& got,
                      std::span<const std::byte> block) {
  GetBody body{};
  const bool is_sound = fabric::read_whole(block, &body);
  const iw_am_endpoint& endpoint = *connection.endpoint;
  const int status =
      is_sound ? refuse(endpoint, got.head, static_cast<std::size_t>(body.nbytes)) : EBADARGS;
  if (status != 0) {
    Head back{};
    back.slot = got.head.slot;
    back.status = static_cast<std::uint8_t>(status);
    return send_control(connection, Kind::returned_request, back);
  }
  Token token{&connection, connection.endpoint, got.head.tag, got.head.slot, true};
  const auto bytes = std::span<const std::byte>(endpoint.segment, endpoint.segment_bytes)
                         .subspan(got.head.offset, body.nbytes);
  const auto words = got.all_words();
  reply(token, {Category::xfer, got.head.handler, body.own_offset, bytes,
                std::span(words).first(got.head.n_args)});
}

Record* Bundle::take_slot_out(Connection& connection, std::uint16_t slot) {
  if (slot >= connection.slots.size() || connection.slots[slot] == nullptr) return nullptr;
  connection.free_slots.push_back(slot);
  return std::exchange(connection.slots[slot], nullptr);
}

// Counts a reply that was handled, and notes that its sender does not know yet.
void Bundle::note_handled(Connection& connection) {
  if (!connection.has_unsaid()) {
    unsaid_count_.store(unsaid_count_.load(std::memory_order_relaxed) + 1,
                        std::memory_order_relaxed);
  }
  connection.replies_handled++;
  if (!std::exchange(connection.is_listed, true)) unsaid_.push_back(&connection);
}

void Bundle::take_reply(Connection& connection, const HeadAndWords& got,
                        std::span<const std::byte> block) {
  Record* request = take_slot_out(connection, got.head.slot);
  if (request == nullptr) return;
  release_record(request);
  if (got.head.handler == no_handler) return;
  note_handled(connection);
  const int status = refuse(*connection.endpoint, got.head, block.size());
  if (status != 0) {
    Head back = got.head;
    back.status = static_cast<std::uint8_t>(status);
    const auto words = got.all_words();
    return send_control(connection, Kind::returned_reply, back,
                        std::span(words).first(got.head.n_args));
  }
  Token token{&connection, connection.endpoint, AM_NONE, got.head.slot, false};
  run_handler(token, got, block);
}

void Bundle::take_returned_request(Connection& connection, const Head& head) {
  Record* record = take_slot_out(connection, head.slot);
  if (record != nullptr) give_back(connection, record, head.status);
}

void Bundle::take_returned_reply(Connection& connection, const HeadAndWords& got) {
  const Category category = category_of(got.head);
  if (!is_known(category) || category == Category::get) return;  // [AM-18]
  const am_returned_t message = describe(got);
  call_undeliverable(*connection.endpoint, got.head.status, opcode(got.head), message);
}

void Bundle::give_back(Connection& connection, Record* record, int status) {
  const HeadAndWords sent = record->header();
  const auto block = record->block();
  am_returned_t message = describe(sent);
  message.destination = record->destination;
  message.block = block.empty() ? nullptr : block.data();
  message.nbytes = block.size();
  if (connection.endpoint != nullptr) {
    call_undeliverable(*connection.endpoint, status, opcode(sent.head), message);
  }
  release_record(record);
}

// Ends the connections with a peer that died, behind the messages that arrived from it and wait for
// the program to poll. Until then they have no peer, because its number may be given to another.
void Bundle::on_death(fabric::PeerId peer) {
  std::vector<Connection*> ended;
  for (const auto& each : connections_) {
    if (each == nullptr || each->peer != peer || each->state == ConnectionState::dead) continue;
    connection_of_.erase(key_of(*each));
    each->peer = no_peer;
    if (each->state == ConnectionState::mapping) {
      retire(*each);
    } else {
      each->pins++;
      ended.push_back(each.get());
    }
  }
  const auto end_all = [this, ended = std::move(ended), was_left = worker_->was_left(peer)] {
    for (Connection* each : ended) {
      end(*each, EUNREACHABLE, was_left);
      unpin(*each);
    }
  };
  const InHandler mark;
  // In an AM_SEQ bundle a death waits for the program's next poll, whichever thread runs this.
  if (type_ == AM_SEQ || must_queue(false)) {
    queue(end_all);
  } else {
    end_all();
  }
}

// Ends a connection. Each message that the other end did not answer or acknowledge comes back.
void Bundle::end(Connection& connection, int status, bool was_left) {
  if (connection.state == ConnectionState::dead) return;
  retire(connection);
  for (std::size_t slot = 0; slot < connection.slots.size(); slot++) {
    Record* record = take_slot_out(connection, static_cast<std::uint16_t>(slot));
    if (record != nullptr) give_back(connection, record, status);
  }
  while (connection.unacknowledged.size() > 0) {
    give_back(connection, connection.unacknowledged.pop(), status);
  }
  if (on_end) on_end(connection, was_left);
}

}  // namespace iw::am
