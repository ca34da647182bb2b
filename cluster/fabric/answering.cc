#include "fabric/answering.h"

#include <utility>

#include "fabric/messenger.h"
#include "fabric/peer_table.h"

namespace iw::fabric {
namespace {

// An answer may arrive before the transport says that it was sent, so more answers may be on the
// way than a peer may have asked for.
constexpr std::size_t on_the_way_bytes_max = 2 * (unanswered_bytes_max + piece_bytes_max);
constexpr std::size_t pieces_kept_max = 16;

}  // namespace

void Answerer::take(const Request& request, Bytes data) {
  Peer* peer = table_.find_by_tag(request.tag);  // [HELLO-8]
  if (peer == nullptr || peer->state != PeerState::connected) return;
  if (peer->answered.bytes_on_the_way > on_the_way_bytes_max) return;
  std::uint64_t before = 0;
  Status status = Status::bad_argument;
  switch (request.access) {
    case Access::put:
      status = regions_.put(request.region, request.offset, data);
      if (status != Status::ok) peer->answered.refused = status;
      return;
    case Access::put_and_tell:
      status = regions_.put(request.region, request.offset, data);
      if (status == Status::ok) status = std::exchange(peer->answered.refused, Status::ok);
      break;
    case Access::flush:
      status = std::exchange(peer->answered.refused, Status::ok);
      break;
    case Access::get:
      return answer_get(*peer, request);
    case Access::fetch_add:
      status = regions_.fetch_add(request.region, request.offset, request.operand, &before);
      break;
    case Access::compare_swap:
      status = regions_.compare_swap(request.region, request.offset, request.operand,
                                     request.desired, &before);
      break;
  }
  send(*peer, request, status, before, {}, take_reply());
}

void Answerer::answer_get(Peer& peer, const Request& request) {
  const std::uint64_t bytes = request.operand;
  Reply* reply = take_reply();
  if (bytes > piece_bytes_max) return send(peer, request, Status::bad_argument, 0, {}, reply);
  if (!reply->piece) reply->piece = std::make_unique_for_overwrite<std::byte[]>(piece_bytes_max);
  const std::span<std::byte> to(reply->piece.get(), bytes);
  const Status status = regions_.get(request.region, request.offset, to);
  send(peer, request, status, 0, status == Status::ok ? to : Bytes{}, reply);
}

// If the answer cannot be sent, the peer is dead and does not miss it.
void Answerer::send(Peer& peer, const Request& request, Status status, std::uint64_t before,
                    Bytes data, Reply* reply) {
  const Answer answer{.tag = peer.tag_there,
                      .status = static_cast<std::uint32_t>(status),
                      .token = request.token,
                      .before = before};
  reply->to = peer.id;
  reply->bytes = answer_bytes + data.size();
  const Status sent =
      messenger_.tell(peer.endpoint, answer_id, std::as_bytes(std::span(&answer, 1)), data, reply);
  if (sent != Status::pending) return give_back(reply);
  peer.answered.bytes_on_the_way += reply->bytes;
}

Answerer::Reply* Answerer::take_reply() {
  if (free_replies_.empty()) {
    auto made = std::make_unique<Reply>();
    made->done = &Answerer::on_sent;
    made->answerer = this;
    free_replies_.push_back(replies_.emplace_back(std::move(made)).get());
  }
  Reply* reply = free_replies_.back();
  free_replies_.pop_back();
  return reply;
}

void Answerer::give_back(Reply* reply) {
  if (free_replies_.size() >= pieces_kept_max) reply->piece.reset();
  free_replies_.push_back(reply);
}

void Answerer::on_sent(Completion& self, Status) {
  auto& reply = static_cast<Reply&>(self);
  Peer* peer = reply.answerer->table_.find(reply.to);
  if (peer != nullptr) peer->answered.bytes_on_the_way -= reply.bytes;
  reply.answerer->give_back(&reply);
}

}  // namespace iw::fabric
