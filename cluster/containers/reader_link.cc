#include "containers/reader_link.h"

namespace iw::containers {

void Parcel::add(std::vector<std::byte> bytes) {
  const auto checksum =
      checksum_of(kind, signature, static_cast<std::uint32_t>(parts.size()), bytes);
  parts.push_back({std::move(bytes), checksum});
}

std::shared_ptr<const Parcel> Parcel::empty(int kind) {
  auto parcel = std::make_shared<Parcel>();
  parcel->kind = kind;
  parcel->add({});
  return parcel;
}

void ReaderLink::add(std::shared_ptr<const Parcel> parcel) {
  outbox_.push_back({std::move(parcel), next_sequence_++});
}

void ReaderLink::add_update(std::shared_ptr<const Parcel> parcel, std::size_t outbox_max) {
  if (is_suspended_ || wants_object_) return;
  add(std::move(parcel));
  if (outbox_.size() <= outbox_max) return;
  forget_waiting();
  wants_object_ = true;
}

// Keeps an item that has begun to be sent, so that its parts stay together.
void ReaderLink::forget_waiting() {
  while (!outbox_.empty() && outbox_.back().next_part == 0) outbox_.pop_back();
}

void ReaderLink::add_object(std::shared_ptr<const Parcel> object) {
  object_sequence_ = next_sequence_;
  wants_object_ = is_suspended_ = false;
  add(std::move(object));
}

void ReaderLink::want_object() { wants_object_ = true; }

void ReaderLink::suspend(std::uint32_t sequence) {
  // A whole object that was sent after the item makes it unnecessary.
  if (static_cast<std::int32_t>(sequence - object_sequence_) < 0) return;
  is_suspended_ = true;
  forget_waiting();
}

bool ReaderLink::send(Endpoint& endpoint, const Head& head, std::span<const std::byte> block) {
  is_refused_ = !endpoint.send(index_, head, block);
  if (is_refused_) {
    is_cut_off_ = is_cut_off_ || answers_ >= sent_;
    return false;
  }
  sent_++;
  last_sent_ = Clock::now();
  return true;
}

std::uint64_t ReaderLink::push(Endpoint& endpoint) {
  std::uint64_t bytes = 0;
  for (; !outbox_.empty(); outbox_.pop_front()) {
    Sending& sending = outbox_.front();
    const Parcel& parcel = *sending.parcel;
    for (; sending.next_part < parcel.parts.size(); sending.next_part++) {
      const Parcel::Part& part = parcel.parts[sending.next_part];
      const Head head{0,
                      number_,
                      parcel.kind,
                      sending.sequence,
                      static_cast<std::uint32_t>(sending.next_part),
                      parcel.signature,
                      part.checksum,
                      life_ms_};
      if (!send(endpoint, head, part.bytes)) return bytes;
      bytes += part.bytes.size();
    }
  }
  return bytes;
}

void ReaderLink::ping_if_quiet(Endpoint& endpoint, Clock::time_point now, int ping_ms) {
  if (has_outbox() || now - last_sent_ < std::chrono::milliseconds(ping_ms)) return;
  Head head;
  head.link = number_;
  head.kind = ping;
  head.life_ms = life_ms_;
  send(endpoint, head, {});
}

bool ReaderLink::is_dead(Clock::time_point now) {
  if (answers_ != answers_seen_ || (answers_ >= sent_ && !is_refused_)) {
    answers_seen_ = answers_;
    waits_since_ = now;
  }
  return now - waits_since_ > std::chrono::milliseconds(life_ms_);
}

}  // namespace iw::containers
