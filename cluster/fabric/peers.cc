#include "fabric/peers.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "fabric/ucx_fabric.h"
#include "fabric/ucx_status.h"

namespace iw::fabric {
namespace {

template <typename T>
bool read_header(const void* header, std::size_t length, T* value) {
  if (length != sizeof *value) return false;
  std::memcpy(value, header, sizeof *value);
  return true;
}

}  // namespace

Peers::Peers(const Address& own, UcxFabric& fabric, Messenger& messenger, PeerTable& table,
             Passes& passes, Callbacks callbacks)
    : own_(own),
      host_(fabric.name().host),
      key_(fabric.key()),
      strangers_(fabric.strangers()),
      messenger_(messenger),
      table_(table),
      passes_(passes),
      callbacks_(std::move(callbacks)),
      endpoints_(fabric, messenger, table, [this](ucp_ep_h endpoint, ucs_status_t status) {
        fail_endpoint(endpoint, status);
      }) {}

Status Peers::start() {
  const Status status = endpoints_.start();
  if (status != Status::ok) return status;
  const std::pair<unsigned, ucp_am_recv_callback_t> handlers[] = {
      {hello_id, &on_hello}, {welcome_id, &on_welcome}, {goodbye_id, &on_goodbye}};
  for (const auto& [id, call] : handlers) {
    const ucs_status_t set = messenger_.set_handler(id, call, this);
    if (set != UCS_OK) return to_status(set);
  }
  return Status::ok;
}

Status Peers::introduce(const AddressParts& parts, const Admission& admission) {
  const Peer* known = find_unmoved(parts, admission.transport_address);
  if (known != nullptr) return Status::ok;
  ucp_ep_h endpoint = nullptr;
  const Status status = endpoints_.open(parts, admission.transport_address, &endpoint);
  if (status != Status::ok) return status;
  Peer& peer = table_.add(parts, endpoint);
  peer.transport_address = admission.transport_address;
  peer.pass = admission.pass;
  return introduce(peer.id);
}

// Says hello once there is a connection: a flush is done then. A hello that is sent before could
// end the other process [UCX-3].
Status Peers::introduce(PeerId peer) {
  struct Connected : Completion {
    Peers* peers;
    PeerId peer;
  };
  auto* connected = new Connected{{}, this, peer};
  // Not at once: the transport may be dispatching what waits for this endpoint [UCX-4].
  connected->done = [](Completion& self, Status status) {
    const std::unique_ptr<Connected> its(static_cast<Connected*>(&self));
    if (status != Status::ok) return;
    its->peers->messenger_.after_poll([peers = its->peers, peer = its->peer] {
      const Peer* awaited = peers->table_.find(peer);
      if (awaited != nullptr && awaited->state != PeerState::dead) peers->say_hello(peer);
    });
  };
  const Status flushed = messenger_.flush(table_.find(peer)->endpoint, connected);
  if (flushed == Status::pending) return Status::ok;
  delete connected;
  if (flushed != Status::ok) return flushed;
  const Status said = say_hello(peer);
  return said == Status::pending ? Status::ok : said;
}

Hello Peers::hello_to(const Peer& peer) const {
  Hello hello;
  hello.from = own_;
  hello.tag = peer.tag;
  hello.index = peer.id;
  return hello;
}

Status Peers::say_hello(PeerId id) {
  const Peer& peer = *table_.find(id);
  Hello hello = hello_to(peer);
  hello.of_asked = peer.pass.of_asked;
  hello.proof = key_.prove(
      hello_label, {bytes_of_message(peer.pass), proven_bytes(hello), Bytes(transport_address())});
  Op* op = messenger_.take_op(nullptr);
  std::memcpy(op->header.data(), &hello, sizeof hello);
  // On verbs the other end speaks on the way that the hello came by.
  const unsigned flags = endpoints_.is_listening() ? UCP_AM_SEND_FLAG_REPLY : 0;
  return messenger_.send_on(peer.endpoint, hello_id, Bytes(op->header).first(sizeof hello),
                            transport_address(), op, flags);
}

ucs_status_t Peers::on_hello(void* peers, const void* header, std::size_t header_length, void* data,
                             std::size_t length, const ucp_am_recv_param_t* param) {
  auto& self = *static_cast<Peers*>(peers);
  HelloHead head;
  if (header_length >= sizeof head) std::memcpy(&head, header, sizeof head);
  if (!is_ours(head)) {
    self.strangers_.refuse("by the transport", why_foreign(head));
    return UCS_OK;
  }
  Hello hello;
  const bool is_sound = read_header(header, header_length, &hello) &&
                        length <= transport_address_bytes_max &&
                        (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0;
  if (!is_sound) return UCS_OK;
  const auto* address = static_cast<const std::byte*>(data);
  const bool is_called = (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0 &&
                         self.endpoints_.is_called_by(param->reply_ep);
  self.messenger_.after_poll([&self, hello,
                              transport_address = std::vector<std::byte>(address, address + length),
                              came_by = is_called ? param->reply_ep : nullptr] {
    self.take_hello(hello, transport_address, came_by);
  });
  return UCS_OK;
}

// False, and the stranger is counted. A hello with a wrong proof does not use up the pass, because
// anybody may have said it.
bool Peers::has_pass(const Hello& hello, Bytes transport_address, Pass* pass) {
  const auto parts = decode(hello.from);
  const bool is_given = parts && passes_.find(hello.of_asked, parts->process.nonce, parts->worker,
                                              Clock::now(), pass);
  const std::string why = is_given ? why_not_taken(hello, hello_label, *pass, transport_address)
                                   : "its hello has no pass, or one that another hello had";
  if (why.empty()) {
    passes_.use_up(*pass);
  } else {
    strangers_.refuse("by the transport", why);
  }
  return why.empty();
}

std::string Peers::why_not_taken(const Hello& hello, const char* label, const Pass& pass,
                                 Bytes transport_address) const {
  const auto parts = {bytes_of_message(pass), proven_bytes(hello), transport_address};
  return key_.is_proven(hello.proof, label, parts) ? "" : "its proof of the job key is wrong";
}

// The peer of that name. One that lives and had another transport address is lost [HELLO-12].
Peer* Peers::find_unmoved(const AddressParts& parts, Bytes transport_address) {
  Peer* const peer = table_.find(key_of(parts));
  const bool has_moved = peer != nullptr && peer->state != PeerState::dead &&
                         !std::ranges::equal(peer->transport_address, transport_address);
  if (!has_moved) return peer;
  lose(peer->id, Status::peer_dead);
  return nullptr;
}

void Peers::take_hello(const Hello& hello, Bytes transport_address, ucp_ep_h came_by) {
  Pass pass;
  if (!has_pass(hello, transport_address, &pass)) return;
  const auto parts = decode(hello.from);
  Peer* peer = find_unmoved(*parts, transport_address);
  if (peer != nullptr) {
    // Both called. The endpoint that the hello came by is connected, the other not yet [UCX-5].
    if (peer->state == PeerState::connecting && endpoints_.take_called_by(came_by)) {
      endpoints_.keep_unused(std::exchange(peer->endpoint, came_by));
    }
  } else {
    ucp_ep_h endpoint = came_by;
    // The one that connects will time out.
    if (!table_.has_room()) return;
    const bool must_open = !endpoints_.take_called_by(came_by);
    if (must_open && endpoints_.open(*parts, transport_address, &endpoint) != Status::ok) return;
    peer = &table_.add(*parts, endpoint);
    peer->transport_address.assign(transport_address.begin(), transport_address.end());
  }
  if (peer->state != PeerState::dead) answer_hello(*peer, hello, pass);
}

void Peers::answer_hello(Peer& peer, const Hello& hello, const Pass& pass) {
  peer.tag_there = hello.tag;
  Hello welcome = hello_to(peer);
  welcome.of_asked = pass.of_asked;
  welcome.index_of_sender = hello.index;
  welcome.proof = key_.prove(welcome_label, {bytes_of_message(pass), proven_bytes(welcome)});
  Op* op = messenger_.take_op(nullptr);
  std::memcpy(op->header.data(), &welcome, sizeof welcome);
  messenger_.send_on(peer.endpoint, welcome_id, Bytes(op->header).first(sizeof welcome), {}, op);
  if (peer.state == PeerState::connected) return;
  peer.state = PeerState::connected;
  callbacks_.connected(peer.id);
}

ucs_status_t Peers::on_welcome(void* peers, const void* header, std::size_t header_length, void*,
                               std::size_t, const ucp_am_recv_param_t*) {
  Hello welcome;
  if (read_header(header, header_length, &welcome) && is_ours(welcome.head)) {
    static_cast<Peers*>(peers)->take_welcome(welcome);
  }
  return UCS_OK;
}

void Peers::take_welcome(const Hello& welcome) {
  Peer* peer = table_.find(welcome.index_of_sender);
  // Only who was asked may answer.
  if (peer == nullptr || peer->address != welcome.from) return;
  if (peer->state != PeerState::connecting) return;
  const std::string why = why_not_taken(welcome, welcome_label, peer->pass, {});
  if (!why.empty()) return strangers_.refuse("by the transport", why);
  peer->tag_there = welcome.tag;
  peer->state = PeerState::connected;
  callbacks_.connected(peer->id);
}

ucs_status_t Peers::on_goodbye(void* peers, const void* header, std::size_t header_length, void*,
                               std::size_t, const ucp_am_recv_param_t*) {
  auto& self = *static_cast<Peers*>(peers);
  std::uint64_t tag = 0;
  if (!read_header(header, header_length, &tag)) return UCS_OK;
  Peer* from = self.table_.find_by_tag(tag);
  // [HELLO-8]
  if (from == nullptr || from->state != PeerState::connected) return UCS_OK;
  from->said_goodbye = true;
  self.messenger_.later([&self, id = from->id] { self.lose(id, Status::peer_dead); });
  return UCS_OK;
}

void Peers::fail_endpoint(ucp_ep_h endpoint, ucs_status_t status) {
  auto& all = table_.all();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Peer& each) { return each.endpoint == endpoint; });
  if (found == all.end()) return;
  const Status why =
      to_status(status) == Status::unreachable ? Status::unreachable : Status::peer_dead;
  fail_soon(found->id, why);
}

void Peers::fail_soon(PeerId peer, Status why) {
  messenger_.later([this, peer, why] { fail(peer, why); });
}

// The last messages of the dead are here already, at least of those on this machine. The news of
// their end comes another way and may overtake the messages, so these are handled first.
void Peers::bury(std::vector<ProcessName> dead) {
  messenger_.poll_until_quiet();
  messenger_.after_poll([this, dead = std::move(dead)] {
    auto& all = table_.all();
    for (std::size_t place = 0; place < all.size(); place++) {
      const Peer& peer = all[place];
      const auto is_it = [&](const ProcessName& name) { return name == peer.parts.process; };
      if (std::any_of(dead.begin(), dead.end(), is_it)) fail(peer.id, Status::peer_dead);
    }
  });
}

void Peers::fail(PeerId id, Status why) {
  Peer* peer = table_.find(id);
  if (peer == nullptr || peer->state == PeerState::dead) return;
  table_.bury(*peer, why);
  endpoints_.close(*peer, true);
  callbacks_.lost(id, why);
}

// Its worker may come again.
void Peers::lose(PeerId id, Status why) {
  const Peer* peer = table_.find(id);
  if (peer == nullptr || peer->state == PeerState::dead) return;
  table_.forget_name(*peer);
  fail(id, why);
}

// One that said goodbye writes no more.
bool Peers::may_have_written(const ProcessName& ended) const {
  if (ended.host != host_) return false;
  return passes_.has_any(ended.nonce) || std::ranges::any_of(table_.all(), [&](const Peer& each) {
           return each.parts.process == ended && !each.said_goodbye;
         });
}

void Peers::say_goodbye(const Peer& peer) {
  Op* op = messenger_.take_op(nullptr);
  std::memcpy(op->header.data(), &peer.tag_there, sizeof peer.tag_there);
  messenger_.send_on(peer.endpoint, goodbye_id, Bytes(op->header).first(sizeof peer.tag_there), {},
                     op);
  endpoints_.let_out(peer.endpoint);
}

void Peers::say_goodbye_before_move() {
  for (const Peer& peer : table_.all()) {
    if (peer.state == PeerState::connected && peer.address != own_) say_goodbye(peer);
  }
}

// The callbacks may change the table, but not what is at a place that is in use.
void Peers::lose_all() {
  auto& all = table_.all();
  for (std::size_t place = 0; place < all.size(); place++) {
    Peer& peer = all[place];
    if (peer.state == PeerState::connected && peer.address == own_) {
      move_own(peer);
    } else {
      // One that is dead may have been left at an earlier move.
      peer.was_left |= peer.state != PeerState::dead;
      lose(peer.id, Status::peer_dead);
    }
  }
}

// This worker as its own peer: what it says to itself arrives within the call.
void Peers::move_own(Peer& own) {
  ucp_ep_h endpoint = nullptr;
  if (endpoints_.open(own.parts, transport_address(), &endpoint) != Status::ok) {
    return lose(own.id, Status::peer_dead);
  }
  endpoints_.close(own, false);
  own.endpoint = endpoint;
  own.transport_address = transport_address();
}

// Those that stay hear it, and need not wait for the process's end to know. Flushed, not closed: on
// verbs a close that is not by force waits for the other end, which may be stopped.
void Peers::say_goodbye_to_all() {
  for (Peer& peer : table_.all()) {
    if (peer.state != PeerState::connected || peer.address == own_) continue;
    say_goodbye(peer);
    peer.state = PeerState::dead;
  }
}

void Peers::close_all() {
  endpoints_.stop_listening();
  for (Peer& peer : table_.all()) endpoints_.close(peer, true);
}

}  // namespace iw::fabric
