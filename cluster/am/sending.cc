// A bundle's requests, replies and the library's own messages on their way out.
#include <algorithm>
#include <cstring>

#include "am/bundle.h"

namespace iw::am {

Record* Bundle::take_record() {
  if (free_records_.empty()) {
    Record& made = records_.emplace_back();
    made.bundle = this;
    made.done = [](fabric::Completion& self, fabric::Status) {
      auto& record = static_cast<Record&>(self);
      record.in_transit = false;
      if (record.is_settled) record.bundle->free_records_.push_back(&record);
    };
    free_records_.push_back(&made);
  }
  Record* record = free_records_.back();
  free_records_.pop_back();
  record->is_settled = false;
  record->destination = -1;
  record->block.clear();
  return record;
}

void Bundle::settle(Record* record) {
  record->is_settled = true;
  if (!record->in_transit) free_records_.push_back(record);
}

// Every message to it says how many of its replies were handled.
Head Bundle::head_for(Connection& to, Kind kind) {
  Head head{};
  head.kind = kind;
  head.connection = to.index_there;
  head.replies_handled = to.replies_handled;
  if (to.replies_handled_said != to.replies_handled) {
    to.replies_handled_said = to.replies_handled;
    forget_unsaid(to);
  }
  return head;
}

void Bundle::forget_unsaid(Connection& connection) {
  std::erase(unsaid_, &connection);
  has_unsaid_.store(!unsaid_.empty(), std::memory_order_relaxed);
}

fabric::Status Bundle::post(fabric::PeerId to, Record* record) {
  const std::size_t bytes = sizeof(Head) + record->sent.head.n_args * sizeof(std::int32_t);
  const auto header = std::as_bytes(std::span(&record->sent, 1)).first(bytes);
  messages_sent++;
  record->in_transit = true;
  const fabric::Status status = worker_->send(to, 0, header, record->block, record);
  if (status != fabric::Status::pending) record->in_transit = false;
  return status == fabric::Status::pending ? fabric::Status::ok : status;
}

namespace {

void fill(Record* record, const Bundle::Outgoing& message) {
  Head& head = record->sent.head;
  head.category = message.category;
  head.handler = static_cast<std::uint16_t>(message.handler);
  head.offset = message.offset;
  head.n_args = static_cast<std::uint8_t>(message.words.size());
  std::copy(message.words.begin(), message.words.end(), record->sent.words.begin());
  record->block.assign(message.block.begin(), message.block.end());
}

}  // namespace

int Bundle::request(Connection& to, int destination, tag_t tag, const Outgoing& message) {
  if (to.free_slots.empty()) return AM_ERR_RESOURCE;
  Record* record = take_record();
  record->sent.head = head_for(to, Kind::request);
  fill(record, message);
  record->destination = destination;
  record->sent.head.tag = tag;
  record->sent.head.slot = to.free_slots.back();
  to.free_slots.pop_back();
  to.slots[record->sent.head.slot] = record;
  const fabric::Status status = post(to.peer, record);
  // Of one that died all that is in the window comes back, by on_death.
  if (status == fabric::Status::ok || status == fabric::Status::peer_dead) return AM_OK;
  settle(take_slot_out(to, record->sent.head.slot));
  return AM_ERR_NOT_SENT;
}

int Bundle::reply(Token& token, const Outgoing& message) {
  if (!token.may_reply) return AM_ERR_RESOURCE;
  Connection& to = *token.connection;
  if (to.link != Link::open) return AM_ERR_NOT_SENT;
  token.may_reply = false;
  Record* record = take_record();
  record->sent.head = head_for(to, Kind::reply);
  fill(record, message);
  record->sent.head.slot = token.slot;
  const bool is_library_own = record->sent.head.handler == no_handler;
  if (post(to.peer, record) != fabric::Status::ok) {
    settle(record);
    return AM_ERR_NOT_SENT;
  }
  if (is_library_own) {
    settle(record);
  } else {
    to.unacknowledged.push_back(record);
  }
  return AM_OK;
}

// `like` says slot and status.
void Bundle::send_control(Connection& to, Kind kind, const Head& like, const HeadAndWords* words) {
  if (to.link != Link::open) return;
  Record* record = take_record();
  const Head own = head_for(to, kind);
  if (words != nullptr) record->sent = *words;
  record->sent.head = like;
  record->sent.head.kind = kind;
  record->sent.head.connection = own.connection;
  record->sent.head.replies_handled = own.replies_handled;
  post(to.peer, record);
  settle(record);
}

void Bundle::send_mapping(fabric::PeerId to, Kind kind, std::uint32_t connection, int status,
                          const Mapping& mapping) {
  Record* record = take_record();
  record->sent.head = {};
  record->sent.head.kind = kind;
  record->sent.head.connection = connection;
  record->sent.head.status = static_cast<std::uint8_t>(status);
  const auto bytes = std::as_bytes(std::span(&mapping, 1));
  record->block.assign(bytes.begin(), bytes.end());
  post(to, record);
  settle(record);
}

void Bundle::acknowledge() {
  while (!unsaid_.empty()) {
    Connection& to = *unsaid_.back();
    forget_unsaid(to);
    send_control(to, Kind::acknowledge, Head{});
  }
}

}  // namespace iw::am
