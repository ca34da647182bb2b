// A bundle's requests, replies and the library's own messages on their way out.
#include "am/bundle.h"

namespace iw::am {

Record* Bundle::take_record() {
  if (free_records_ == nullptr) {
    free_records_ = &records_.emplace_back();
    free_records_->bundle = this;
    free_records_->done = [](fabric::Completion& self, fabric::Status) {
      auto& record = static_cast<Record&>(self);
      record.in_transit = false;
      if (record.is_released) record.bundle->put_back(&record);
    };
  }
  Record* record = std::exchange(free_records_, free_records_->next);
  record->is_released = false;
  record->destination = -1;
  return record;
}

void Bundle::put_back(Record* record) { record->next = std::exchange(free_records_, record); }

// Gives up a record, because its message cannot come back any more. If the transport still has the
// record, the record returns to the stock after the transport is done with it.
void Bundle::release_record(Record* record) {
  record->is_released = true;
  if (!record->in_transit) put_back(record);
}

// Addresses a message to the other end, and says how many of its replies were handled.
void Bundle::address(Head& head, Connection& to, Kind kind) {
  head.kind = kind;
  head.connection = to.id_there;
  head.replies_handled = to.replies_handled;
  note_said(to);
}

void Bundle::note_said(Connection& connection) {
  if (!connection.has_unsaid()) return;
  connection.replies_handled_said = connection.replies_handled;
  unsaid_count_.store(unsaid_count_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

fabric::Status Bundle::post(fabric::PeerId to, Record* record) {
  messages_sent++;
  record->in_transit = true;
  const fabric::Status status =
      worker_->send_in_place(to, 0, record->piece(), record->header_bytes(), record);
  if (status == fabric::Status::pending) return fabric::Status::ok;
  record->in_transit = false;
  return status;
}

Head& Bundle::write(Record* record, const Draft& message) {
  Head& head = record->write(message.words, message.block);
  head.category = static_cast<std::uint8_t>(message.category);
  head.n_args = static_cast<std::uint8_t>(message.words.size());
  head.status = 0;
  head.handler = static_cast<std::uint16_t>(message.handler);
  head.offset = message.offset;
  return head;
}

int Bundle::request(Connection& to, int destination, tag_t tag, const Draft& message) {
  if (to.free_slots.empty()) return AM_ERR_RESOURCE;
  const std::uint16_t slot = to.free_slots.back();
  to.free_slots.pop_back();
  Record* record = take_record();
  record->destination = destination;
  Head& head = write(record, message);
  address(head, to, Kind::request);
  head.tag = tag;
  head.slot = slot;
  to.slots[slot] = record;
  const fabric::Status status = post(to.peer, record);
  // If the peer died, on_death returns all requests of the window, this one among them.
  if (status == fabric::Status::ok || status == fabric::Status::peer_dead) return AM_OK;
  release_record(take_slot_out(to, slot));
  return AM_ERR_NOT_SENT;
}

int Bundle::reply(Token& token, const Draft& message) {
  if (!token.may_reply) return AM_ERR_RESOURCE;
  Connection& to = *token.connection;
  if (to.state != ConnectionState::open) return AM_ERR_NOT_SENT;
  token.may_reply = false;
  Record* record = take_record();
  Head& head = write(record, message);
  address(head, to, Kind::reply);
  head.tag = AM_NONE;
  head.slot = token.slot;
  if (post(to.peer, record) != fabric::Status::ok) {
    release_record(record);
    return AM_ERR_NOT_SENT;
  }
  const bool is_library_own = message.handler == no_handler;
  if (is_library_own) {
    release_record(record);
  } else {
    to.unacknowledged.push(record);
  }
  return AM_OK;
}

// Sends a message of the library's own, with the fields of `like`, but for those that address()
// writes.
void Bundle::send_control(Connection& to, Kind kind, const Head& like, std::span<const int> words) {
  if (to.state != ConnectionState::open) return;
  Record* record = take_record();
  Head& head = record->write(words, {});
  head = like;
  head.n_args = static_cast<std::uint8_t>(words.size());
  address(head, to, kind);
  post(to.peer, record);
  release_record(record);
}

void Bundle::send_mapping(fabric::PeerId to, Kind kind, std::uint32_t connection, int status,
                          const Mapping& mapping) {
  Record* record = take_record();
  Head& head = record->write({}, fabric::bytes_of(mapping));
  head = {};
  head.kind = kind;
  head.connection = connection;
  head.status = static_cast<std::uint8_t>(status);
  post(to, record);
  release_record(record);
}

void Bundle::acknowledge() {
  while (!unsaid_.empty()) {
    Connection& to = *unsaid_.back();
    unsaid_.pop_back();
    to.is_listed = false;
    if (to.has_unsaid()) send_control(to, Kind::acknowledge, Head{});
  }
}

// A handled request has been answered. A handled reply is acknowledged when its receiver sends
// another message, or polls and finds nothing. Therefore receivers of replies are asked.
bool Bundle::is_all_handled() {
  bool is_all = true;
  for (const auto& each : connections_) {
    if (each == nullptr || each->state != ConnectionState::open) continue;
    const bool is_handled = each->unacknowledged.size() == 0;
    if (!is_handled && each->replies_asked_about != each->replies_sent()) {
      each->replies_asked_about = each->replies_sent();
      send_control(*each, Kind::ask_handled, Head{});
    }
    is_all = is_all && is_handled && !each->has_outstanding();
  }
  return is_all;
}

}  // namespace iw::am
