#include "fabric/peer_table.h"

#include <algorithm>
#include <memory>

namespace iw::fabric {

Peer* PeerTable::find(const PeerKey& key) const {
  const auto known = peer_of_.find(key);
  return known == peer_of_.end() ? nullptr : find(known->second);
}

Status PeerTable::why_not_connected(const Peer* peer, PeerId id) const {
  if (peer == nullptr) return why_unknown(id);
  return peer->state == PeerState::dead ? peer->why : Status::bad_argument;
}

Status PeerTable::why_unknown(PeerId id) const {
  const PeerId place = id & place_mask;
  const bool was_known = place < peer_at_.size() && id < peer_at_[place]->id;
  return was_known ? Status::peer_dead : Status::bad_argument;
}

Peer& PeerTable::add(const AddressParts& parts, ucp_ep_h endpoint) {
  Peer& peer = place_for_peer();
  peer.endpoint = endpoint;
  peer.tag =
      (secrets_.next() & ~tag_gap_mask & ~std::uint64_t{place_mask}) | (peer.id & place_mask);
  peer.parts = parts;
  peer.address = encode(parts);
  peer_of_[key_of(parts)] = peer.id;
  return peer;
}

void PeerTable::bury(Peer& peer, Status why) {
  peer.why = why;
  peer.state = PeerState::dead;
  dead_peers_.push_back(&peer);
}

void PeerTable::forget_name(const Peer& peer) {
  const auto known = peer_of_.find(key_of(peer.parts));
  if (known != peer_of_.end() && known->second == peer.id) peer_of_.erase(known);
}

// The place of who died first, of those whose places may be used again.
Peer* PeerTable::peer_to_forget() const {
  if (dead_peers_.size() <= dead_kept_max) return nullptr;
  constexpr PeerId last_use = ~PeerId{0} >> place_bits;
  const auto found = std::find_if(dead_peers_.begin(), dead_peers_.end(), [](const Peer* each) {
    return each->windows == 0 && each->id >> place_bits < last_use;
  });
  return found == dead_peers_.end() ? nullptr : *found;
}

Peer& PeerTable::place_for_peer() {
  Peer* const forgotten = peer_to_forget();
  if (forgotten == nullptr) {
    Peer& peer = *peer_at_.emplace_back(&peers_.emplace_back());
    peer.id = static_cast<PeerId>(peers_.size() - 1);
    return peer;
  }
  const PeerId id = forgotten->id + peers_max;
  forget_name(*forgotten);
  std::erase(dead_peers_, forgotten);
  std::destroy_at(forgotten);
  std::construct_at(forgotten)->id = id;
  return *forgotten;
}

}  // namespace iw::fabric
