// A worker's peers: how two workers come to know each other, and how they lose each other.
//
// The worker that connects asks at the other process's door for the transport's address, then says
// hello: its own addresses, and the index at which it keeps the other. That one answers with a
// welcome that says its index. From then on each message begins with the index that its receiver
// knows. Two that connect to each other at once use the same pair of entries.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "fabric/open_files.h"
#include "fabric/packed.h"
#include "fabric/ucx_fabric.h"
#include "fabric/ucx_status.h"
#include "fabric/ucx_worker.h"
#include "platform/mutex.h"

namespace iw::fabric {
namespace {

constexpr unsigned hello_id = message_ids, welcome_id = message_ids + 1,
                   goodbye_id = message_ids + 2;

template <typename T>
bool read_header(const void* header, std::size_t length, T* value) {
  if (length != sizeof *value) return false;
  std::memcpy(value, header, sizeof *value);
  return true;
}

}  // namespace

const Address& UcxWorker::peer_address(PeerId peer) const {
  const Held held(lock_);
  static const Address none;
  const Peer* found = find(peer);
  return found == nullptr ? none : found->address;
}

bool UcxWorker::is_alive(PeerId peer) const {
  const Held held(lock_);
  const Peer* found = find(peer);
  return found != nullptr && found->state != PeerState::dead;
}

ucs_status_t UcxWorker::set_internal_handlers() {
  const std::pair<unsigned, ucp_am_recv_callback_t> handlers[] = {{hello_id, &on_hello},
                                                                  {welcome_id, &on_welcome},
                                                                  {goodbye_id, &on_goodbye},
                                                                  {request_id, &on_request},
                                                                  {answer_id, &on_answer}};
  for (const auto& [id, call] : handlers) {
    ucp_am_handler_param_t param{};
    param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
    param.id = id;
    param.cb = call;
    param.arg = this;
    const ucs_status_t status = ucp_worker_set_am_recv_handler(worker_, &param);
    if (status != UCS_OK) return status;
  }
  return UCS_OK;
}

Status UcxWorker::connect(const Address& address, Deadline deadline, PeerId* peer) {
  if (lock_.is_mine()) return Status::in_handler;
  const auto parts = decode(address);
  if (!parts) return Status::bad_argument;
  const PeerKey key{parts->process.nonce, parts->worker};
  // Of several threads that want the same peer one asks for it.
  bool must_ask = false;
  const auto is_asked_for = [&] {
    lock_.assert_held();
    must_ask = !peer_of_.contains(key) && asked_for_.insert(key).second;
    return must_ask || peer_of_.contains(key);
  };
  Status status = wait(is_asked_for, deadline);
  if (status == Status::ok && must_ask) status = ask_for(*parts, key, deadline);
  if (status != Status::ok) return status;
  Status result = Status::peer_dead;
  const auto is_settled = [&] {
    lock_.assert_held();
    const auto known = peer_of_.find(key);
    if (known == peer_of_.end()) return true;  // it died, and was forgotten
    const Peer* found = find(*peer = known->second);
    result = found->state == PeerState::connected ? Status::ok : found->why;
    return found->state != PeerState::connecting;
  };
  status = wait(is_settled, deadline);
  return status == Status::ok ? result : status;
}

// Leaves the peer in the table, connecting, or fails.
Status UcxWorker::ask_for(const AddressParts& parts, const PeerKey& key, Deadline deadline) {
  std::vector<std::byte> transport_address;
  Status status = fabric_.door().ask(parts, deadline, &transport_address);
  {
    const Held held(lock_);
    asked_for_.erase(key);
    if (status == Status::ok && !peer_of_.contains(key)) {  // it may have said hello meanwhile
      ucp_ep_h endpoint = nullptr;
      status = open_endpoint(parts, transport_address, &endpoint);
      if (status == Status::ok) status = introduce(add_peer(parts, endpoint));
    }
  }
  wake();
  return status;
}

ucp_ep_params_t UcxWorker::endpoint_params(ucp_err_handling_mode_t mode) {
  ucp_ep_params_t param{};
  param.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  param.err_mode = mode;
  param.err_handler.cb = &UcxWorker::on_endpoint_error;
  param.err_handler.arg = this;
  return param;
}

Status UcxWorker::open_endpoint(const AddressParts& parts, Bytes transport_address,
                                ucp_ep_h* endpoint) {
  if (!has_room() || !has_open_files_for_a_peer()) return Status::no_memory;
  if (fabric_.transport() == Transport::verbs) return call(transport_address, endpoint);
  const bool is_own_process = parts.process == fabric_.name();
  auto param =
      endpoint_params(is_own_process ? UCP_ERR_HANDLING_MODE_NONE : UCP_ERR_HANDLING_MODE_PEER);
  param.field_mask |= UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  const auto framed = framed_address(transport_address);
  param.address = reinterpret_cast<const ucp_address_t*>(framed.data());
  return to_status(ucp_ep_create(worker_, &param, endpoint));
}

PeerId UcxWorker::add_peer(const AddressParts& parts, ucp_ep_h endpoint) {
  Peer& peer = place_for_peer();
  peer.endpoint = endpoint;
  peer.parts = parts;
  peer.address = encode(parts);
  peer_of_[{parts.process.nonce, parts.worker}] = peer.id;
  return peer.id;
}

// The place of who died first, of those whose places may be used again.
Peer* UcxWorker::peer_to_forget() const {
  if (dead_peers_.size() <= dead_kept_max) return nullptr;
  constexpr PeerId last_use = ~PeerId{0} >> place_bits;
  const auto found = std::find_if(dead_peers_.begin(), dead_peers_.end(), [](const Peer* each) {
    return each->windows == 0 && each->id >> place_bits < last_use;
  });
  return found == dead_peers_.end() ? nullptr : *found;
}

Peer& UcxWorker::place_for_peer() {
  Peer* const forgotten = peer_to_forget();
  if (forgotten == nullptr) {
    Peer& peer = *peer_at_.emplace_back(&peers_.emplace_back());
    peer.id = static_cast<PeerId>(peers_.size() - 1);
    return peer;
  }
  const PeerId id = forgotten->id + peers_max;
  peer_of_.erase({forgotten->parts.process.nonce, forgotten->parts.worker});
  std::erase(dead_peers_, forgotten);
  std::destroy_at(forgotten);
  std::construct_at(forgotten)->id = id;
  return *forgotten;
}

// Of an index that is no peer's, or no longer.
Status UcxWorker::why_unknown(PeerId id) const {
  const PeerId place = id & place_mask;
  const bool was_known = place < peer_at_.size() && id < peer_at_[place]->id;
  return was_known ? Status::peer_dead : Status::bad_argument;
}

// Says hello once there is a connection: a flush is done then. A hello that is sent before could
// end the other process [UCX-3].
Status UcxWorker::introduce(PeerId peer) {
  struct Connected : Completion {
    UcxWorker* worker;
    PeerId peer;
  };
  auto* connected = new Connected{{}, this, peer};
  // Not at once: the transport may be dispatching what waits for this endpoint [UCX-4].
  connected->done = [](Completion& self, Status status) {
    const std::unique_ptr<Connected> its(static_cast<Connected*>(&self));
    if (status != Status::ok) return;
    its->worker->lock_.assert_held();
    its->worker->after_progress_.emplace_back([worker = its->worker, peer = its->peer] {
      worker->lock_.assert_held();
      const Peer* awaited = worker->find(peer);
      if (awaited != nullptr && awaited->state != PeerState::dead) worker->say_hello(peer);
    });
  };
  const Status flushed = flush_endpoint(*find(peer), connected);
  if (flushed == Status::pending) return Status::ok;
  delete connected;
  if (flushed != Status::ok) return flushed;
  const Status said = say_hello(peer);
  return said == Status::pending ? Status::ok : said;
}

Status UcxWorker::say_hello(PeerId peer) {
  const Hello hello{address_, peer, 0};
  Op* op = take_op(nullptr);
  std::memcpy(op->header.data(), &hello, sizeof hello);
  // On verbs the other end speaks on the way that the hello came by.
  const unsigned flags = listener_ != nullptr ? UCP_AM_SEND_FLAG_REPLY : 0;
  return send_on(find(peer)->endpoint, hello_id, Bytes(op->header).first(sizeof hello),
                 transport_address_, op, flags);
}

ucs_status_t UcxWorker::on_hello(void* worker, const void* header, std::size_t header_length,
                                 void* data, std::size_t length, const ucp_am_recv_param_t* param) {
  auto& self = *static_cast<UcxWorker*>(worker);
  const bool is_sound = header_length == sizeof(Hello) && length <= transport_address_bytes_max &&
                        (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0;
  if (!is_sound) return UCS_OK;
  self.lock_.assert_held();
  const auto* from = static_cast<const std::byte*>(header);
  const auto* address = static_cast<const std::byte*>(data);
  const bool is_called = (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0 &&
                         self.called_by_.contains(param->reply_ep);
  self.after_progress_.emplace_back(
      [&self, hello = std::vector<std::byte>(from, from + header_length),
       transport_address = std::vector<std::byte>(address, address + length),
       came_by = is_called ? param->reply_ep : nullptr] {
        self.lock_.assert_held();
        self.take_hello(hello, transport_address, came_by);
      });
  return UCS_OK;
}

void UcxWorker::take_hello(Bytes header, Bytes transport_address, ucp_ep_h came_by) {
  Hello hello;
  std::memcpy(&hello, header.data(), sizeof hello);
  const auto parts = decode(hello.address);
  if (!parts) return;
  const auto known = peer_of_.find({parts->process.nonce, parts->worker});
  PeerId id = 0;
  if (known != peer_of_.end()) {
    id = known->second;
    // Both called. What the hello came by is connected, the other is not yet [UCX-5].
    Peer& caller = *find(id);
    if (caller.state == PeerState::connecting && called_by_.erase(came_by) > 0) {
      called_by_.insert(std::exchange(caller.endpoint, came_by));
    }
  } else {
    ucp_ep_h endpoint = came_by;
    // The one that connects will time out.
    if (!has_room()) return;
    const bool must_open = called_by_.erase(came_by) == 0;
    if (must_open && open_endpoint(*parts, transport_address, &endpoint) != Status::ok) return;
    id = add_peer(*parts, endpoint);
  }
  Peer& peer = *find(id);
  if (peer.state == PeerState::dead) return;
  peer.own_index_there = hello.index_of_receiver;
  const Hello welcome{address_, id, hello.index_of_receiver};
  Op* op = take_op(nullptr);
  std::memcpy(op->header.data(), &welcome, sizeof welcome);
  send_on(peer.endpoint, welcome_id, Bytes(op->header).first(sizeof welcome), {}, op);
  if (peer.state == PeerState::connected) return;
  peer.state = PeerState::connected;
  if (on_connect_) on_connect_(id);
}

ucs_status_t UcxWorker::on_welcome(void* worker, const void* header, std::size_t header_length,
                                   void*, std::size_t, const ucp_am_recv_param_t*) {
  auto& self = *static_cast<UcxWorker*>(worker);
  Hello welcome;
  if (!read_header(header, header_length, &welcome)) return UCS_OK;
  self.lock_.assert_held();
  Peer* peer = self.find(welcome.index_here);
  // Only who was asked may answer.
  if (peer == nullptr || peer->address != welcome.address) return UCS_OK;
  if (peer->state != PeerState::connecting) return UCS_OK;
  peer->own_index_there = welcome.index_of_receiver;
  peer->state = PeerState::connected;
  if (self.on_connect_) self.on_connect_(welcome.index_here);
  return UCS_OK;
}

ucs_status_t UcxWorker::on_goodbye(void* worker, const void* header, std::size_t header_length,
                                   void*, std::size_t, const ucp_am_recv_param_t*) {
  auto& self = *static_cast<UcxWorker*>(worker);
  PeerId from;
  if (!read_header(header, header_length, &from)) return UCS_OK;
  self.lock_.assert_held();
  self.fail_soon(from, Status::peer_dead);
  return UCS_OK;
}

void UcxWorker::on_endpoint_error(void* worker, ucp_ep_h endpoint, ucs_status_t status) {
  auto& self = *static_cast<UcxWorker*>(worker);
  self.lock_.assert_held();
  if (self.called_by_.erase(endpoint) > 0) {
    self.after_progress_.emplace_back([&self, endpoint] {
      self.lock_.assert_held();
      self.close_endpoint(endpoint, true);
    });
    return;
  }
  const auto found = std::find_if(self.peers_.begin(), self.peers_.end(),
                                  [&](const Peer& each) { return each.endpoint == endpoint; });
  if (found == self.peers_.end()) return;
  const Status why =
      to_status(status) == Status::unreachable ? Status::unreachable : Status::peer_dead;
  self.fail_soon(found->id, why);
}

void UcxWorker::fail_soon(PeerId peer, Status why) {
  after_progress_.emplace_back([this, peer, why] {
    lock_.assert_held();
    fail(peer, why);
  });
  fabric_.service().nudge_if_asleep();
}

void UcxWorker::note_death(const ProcessName& process) {
  {
    const platform::MutexLock held(dead_mutex_);
    dead_.push_back(process);
  }
  has_dead_ = true;
  wake();
}

// What they sent last is here already, at least of those on this machine, but the news of their end
// comes another way and may overtake it. So it is handled first.
void UcxWorker::bury_the_dead() {
  std::vector<ProcessName> dead;
  {
    const platform::MutexLock held(dead_mutex_);
    dead.swap(dead_);
    has_dead_ = false;
  }
  handle_what_is_here();
  after_progress_.emplace_back([this, dead = std::move(dead)] {
    lock_.assert_held();
    for (std::size_t place = 0; place < peers_.size(); place++) {
      const Peer& peer = peers_[place];
      const auto is_it = [&](const ProcessName& name) { return name == peer.parts.process; };
      if (std::any_of(dead.begin(), dead.end(), is_it)) fail(peer.id, Status::peer_dead);
    }
  });
}

// The bound is far above what the transports' buffers hold; others may be sending all the time.
void UcxWorker::handle_what_is_here() {
  constexpr int looks_max = 4096;
  constexpr int quiet_looks = 8;  // one may find no more than a part of a message
  is_progressing_ = true;
  for (int looks = 0, quiet = 0; looks < looks_max && quiet < quiet_looks; looks++) {
    quiet = ucp_worker_progress(worker_) == 0 ? quiet + 1 : 0;
  }
  is_progressing_ = false;
}

void UcxWorker::fail(PeerId id, Status why) {
  Peer* peer = find(id);
  if (peer == nullptr || peer->state == PeerState::dead) return;
  peer->why = why;
  peer->state = PeerState::dead;
  dead_peers_.push_back(peer);
  close_endpoint(*peer, true);
  asker_.end_all(id, why);
  if (on_death_) on_death_(id);
}

void UcxWorker::close_endpoint(Peer& peer, bool by_force) {
  if (peer.endpoint == nullptr) return;
  const bool may_force =
      fabric_.transport() == Transport::verbs || !(peer.parts.process == fabric_.name());
  close_endpoint(std::exchange(peer.endpoint, nullptr), by_force && may_force);
}

void UcxWorker::close_endpoint(ucp_ep_h endpoint, bool by_force) {
  ucp_request_param_t param = closing_param();
  param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = by_force ? UCP_EP_CLOSE_FLAG_FORCE : 0;
  if (UCS_PTR_IS_PTR(ucp_ep_close_nbx(endpoint, &param))) closing_++;
}

ucp_request_param_t UcxWorker::closing_param() {
  ucp_request_param_t param;
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.user_data = this;
  param.cb.send = [](void* request, ucs_status_t, void* self) {
    ucp_request_free(request);
    auto& worker = *static_cast<UcxWorker*>(self);
    worker.lock_.assert_held();
    worker.closing_--;
  };
  return param;
}

// Those that stay hear it, and need not wait for the process's end to know. Flushed, not closed: on
// verbs a close that is not by force waits for the other end, which may be stopped.
void UcxWorker::say_goodbye_to_all() {
  for (Peer& peer : peers_) {
    if (peer.state != PeerState::connected || peer.address == address_) continue;
    Op* op = take_op(nullptr);
    std::memcpy(op->header.data(), &peer.own_index_there, sizeof(PeerId));
    send_on(peer.endpoint, goodbye_id, Bytes(op->header).first(sizeof(PeerId)), {}, op);
    peer.state = PeerState::dead;
    const ucp_request_param_t param = closing_param();
    if (UCS_PTR_IS_PTR(ucp_ep_flush_nbx(peer.endpoint, &param))) closing_++;
  }
}

}  // namespace iw::fabric
