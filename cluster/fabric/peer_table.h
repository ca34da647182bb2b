// A worker's peers by index and by name: places that are used again, and those that died last.
//
// Invariants: an index is never used for two peers. Its lower half is a place in the table, its
// upper half says how often that place was used before. Peers stay where they are in memory while
// their index is theirs. A dead peer keeps its place while a window on it is open, and until
// dead_kept_max more have died. Of the peers of one name at most one is not dead.
//
// The worker's lock guards a table: its owner declares it so.
#pragma once

#include <ucp/api/ucp.h>

#include <atomic>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "fabric/answering.h"
#include "fabric/asking.h"
#include "fabric/fabric.h"
#include "fabric/passes.h"
#include "fabric/process_name.h"
#include "fabric/secrets.h"

namespace iw::fabric {

inline constexpr unsigned place_bits = 16;
inline constexpr std::size_t peers_max = 1 << place_bits;
inline constexpr PeerId place_mask = peers_max - 1;
// A tag leaves these bits to the length of a message's header (Prefix).
inline constexpr unsigned tag_gap_shift = place_bits;
inline constexpr std::uint64_t tag_gap_mask = std::uint64_t{0xff} << tag_gap_shift;
// So many dead are remembered; then the places of those that nobody has a window on are used again.
inline constexpr std::size_t dead_kept_max = 128;

enum class PeerState : std::uint8_t { connecting, connected, dead };

struct Peer {
  PeerId id = 0;
  ucp_ep_h endpoint = nullptr;
  Address address;
  AddressParts parts;
  std::vector<std::byte> transport_address;  // that the endpoint leads to
  // A message names its receiver's entry of its sender by a tag [HELLO-8]: the place, and bits that
  // nobody can guess. Of this entry here, and of the entry of this worker there.
  std::uint64_t tag = 0;
  std::uint64_t tag_there = 0;  // once connected
  Pass pass{};                  // of the hello that this worker says
  std::atomic<PeerState> state{PeerState::connecting};
  Status why = Status::peer_dead;  // of one that is dead
  bool said_goodbye = false, was_left = false;
  Asked asked;
  Answered answered;
  unsigned windows = 0;  // that are open
};

// A worker's name: its process's nonce and its number there.
using PeerKey = std::pair<std::array<std::uint64_t, 2>, std::uint32_t>;
inline PeerKey key_of(const AddressParts& parts) { return {parts.process.nonce, parts.worker}; }

class PeerTable {
 public:
  Peer* find(PeerId id) const {
    const PeerId place = id & place_mask;
    Peer* const peer = place < peer_at_.size() ? peer_at_[place] : nullptr;
    return peer != nullptr && peer->id == id ? peer : nullptr;
  }
  // nullptr: no peer was told this tag.
  Peer* find_by_tag(std::uint64_t tag) const {
    const std::uint64_t place = tag & place_mask;
    Peer* const peer = place < peer_at_.size() ? peer_at_[place] : nullptr;
    return peer != nullptr && peer->tag == (tag & ~tag_gap_mask) ? peer : nullptr;
  }
  // nullptr: unknown, or forgotten.
  Peer* find(const PeerKey& key) const;
  // nullptr, and why, if it cannot be sent to.
  Peer* find_connected(PeerId id, Status* why) const {
    Peer* const peer = find(id);
    if (peer != nullptr && peer->state == PeerState::connected) return peer;
    *why = why_not_connected(peer, id);
    return nullptr;
  }
  // Of an index that find() does not know.
  Status why_unknown(PeerId id) const;

  bool has_room() const { return peers_.size() < peers_max || peer_to_forget() != nullptr; }
  // REQUIRES: has_room(), and no peer of that name. The peer is connecting.
  Peer& add(const AddressParts& parts, ucp_ep_h endpoint);
  // REQUIRES: the peer is not dead.
  void bury(Peer& peer, Status why);
  // Its worker may become a peer anew, while this one stays dead.
  void forget_name(const Peer& peer);
  // The living and the dead, without an order.
  std::deque<Peer>& all() { return peers_; }

  // Of several threads that want the same peer one asks for it. False: another does, or did.
  // `again`: also for one that is known already.
  bool begin_to_ask_for(const PeerKey& key, bool again) {
    return (again || !peer_of_.contains(key)) && asked_for_.insert(key).second;
  }
  void end_to_ask_for(const PeerKey& key) { asked_for_.erase(key); }

 private:
  Status why_not_connected(const Peer* peer, PeerId id) const;
  Peer* peer_to_forget() const;
  Peer& place_for_peer();

  Secrets secrets_;
  std::deque<Peer> peers_;
  // Where they are, which a deque is slow to find.
  std::vector<Peer*> peer_at_;
  // In the order of their deaths, without the forgotten.
  std::deque<Peer*> dead_peers_;
  std::map<PeerKey, PeerId> peer_of_;
  std::set<PeerKey> asked_for_;  // at their doors
};

}  // namespace iw::fabric
