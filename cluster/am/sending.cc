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
      if (record.is_settled) record.bundle->put_back(&record);
    };
  }
  Record* record = std::exchange(free_records_, free_records_->next);
  record->is_settled = false;
  record->destination = -1;
  return record;
}

void Bundle::put_back(Record* record) { record->next = std::exchange(free_records_, record); }

void Bundle::settle(Record* record) {
  record->is_settled = true;
  if (!record->in_transit) put_back(record);
}

// Every message to it says how many of its replies were handled.
Head Bundle::head_for(Connection& to, Kind kind) {
  Head head{};
  head.kind = kind;
  head.connection = to.id_there;
  head.replies_handled = to.replies_handled;
  note_said(to);
  return head;
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

namespace {

void write(Record* record, Head* head, const Bundle::Outgoing& message) {
  head->category = message.category;
  head->handler = static_cast<std::uint16_t>(message.handler);
  head->offset = message.offset;
  head->n_args = static_cast<std::uint8_t>(message.words.size());
  record->write(*head, message.words.data(), message.block);
}

}  // namespace

int Bundle::request(Connection& to, int destination, tag_t tag, const Outgoing& message) {
  if (to.free_slots.empty()) return AM_ERR_RESOURCE;
  const std::uint16_t slot = to.free_slots.back();
  to.free_slots.pop_back();
  Head head = head_for(to, Kind::request);
  head.tag = tag;
  head.slot = slot;
  Record* record = take_record();
  record->destination = destination;
  write(record, &head, message);
  to.slots[slot] = record;
  const fabric::Status status = post(to.peer, record);
  // Of one that died all that is in the window comes back, by on_death.
  if (status == fabric::Status::ok || status == fabric::Status::peer_dead) return AM_OK;
  settle(take_slot_out(to, slot));
  return AM_ERR_NOT_SENT;
}

int Bundle::reply(Token& token, const Outgoing& message) {
  if (!token.may_reply) return AM_ERR_RESOURCE;
  Connection& to = *token.connection;
  if (to.link != Link::open) return AM_ERR_NOT_SENT;
  token.may_reply = false;
  Head head = head_for(to, Kind::reply);
  head.slot = token.slot;
  Record* record = take_record();
  write(record, &head, message);
  if (post(to.peer, record) != fabric::Status::ok) {
    settle(record);
    return AM_ERR_NOT_SENT;
  }
  const bool is_library_own = head.handler == no_handler;
  if (is_library_own) {
    settle(record);
  } else {
    to.unacknowledged.push(record);
  }
  return AM_OK;
}

// `like` says all but whom it goes to and what its sender has handled.
void Bundle::send_control(Connection& to, Kind kind, const Head& like, const std::byte* words) {
  if (to.link != Link::open) return;
  const Head own = head_for(to, kind);
  Head head = like;
  head.kind = kind;
  head.connection = own.connection;
  head.replies_handled = own.replies_handled;
  if (words == nullptr) head.n_args = 0;
  Record* record = take_record();
  record->write(head, words, {});
  post(to.peer, record);
  settle(record);
}

void Bundle::send_mapping(fabric::PeerId to, Kind kind, std::uint32_t connection, int status,
                          const Mapping& mapping) {
  Head head{};
  head.kind = kind;
  head.connection = connection;
  head.status = static_cast<std::uint8_t>(status);
  Record* record = take_record();
  record->write(head, nullptr, std::as_bytes(std::span(&mapping, 1)));
  post(to, record);
  settle(record);
}

void Bundle::acknowledge() {
  while (!unsaid_.empty()) {
    Connection& to = *unsaid_.back();
    unsaid_.pop_back();
    to.is_listed = false;
    if (to.has_unsaid()) send_control(to, Kind::acknowledge, Head{});
  }
}

}  // namespace iw::am
