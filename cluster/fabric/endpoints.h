// A worker's ends of connections: how they are opened, and how they are closed.
//
// On verbs workers meet by the adapters' connection manager, because a worker's address does not
// connect everywhere [UCX-6]. A worker listens there, and its transport address says where. Another
// worker calls that place; the endpoint that it opens serves both ways. The listener knows the
// caller when the caller's hello arrives. Elsewhere UCX connects by the worker's address.
//
// Invariants: an endpoint that another worker opened is in called_ until it is a peer's, or is
// closed. An endpoint is closed once.
//
// The worker's lock guards its endpoints: their owner declares it so.
#pragma once

#include <ucp/api/ucp.h>

#include <functional>
#include <utility>
#include <vector>

#include "fabric/called_endpoints.h"
#include "fabric/messenger.h"
#include "fabric/peer_table.h"

namespace iw::fabric {

class UcxFabric;

class Endpoints {
 public:
  // `failed`: an endpoint that is a peer's does not work any more, for one of these reasons.
  using Failed = std::function<void(ucp_ep_h endpoint, ucs_status_t status)>;
  Endpoints(UcxFabric& fabric, Messenger& messenger, const PeerTable& table, Failed failed)
      : fabric_(fabric), messenger_(messenger), table_(table), failed_(std::move(failed)) {}

  // Finds the transport address, by which others reach this worker.
  Status start();
  const std::vector<std::byte>& transport_address() const { return transport_address_; }
  // True on verbs, where the other end answers on the way that it was called by.
  bool is_listening() const { return listener_ != nullptr; }

  Status open(const AddressParts& parts, Bytes transport_address, ucp_ep_h* endpoint);
  // Whether the endpoint is one that another worker opened and nobody has taken.
  bool is_called_by(ucp_ep_h endpoint) const { return called_.contains(endpoint); }
  // It is a peer's from here on. False: another worker did not open it.
  bool take_called_by(ucp_ep_h endpoint) { return called_.take(endpoint); }
  // This worker called, too, and uses the other's endpoint: keeps its own until it is closed,
  // because the other uses that one.
  void keep_unused(ucp_ep_h endpoint) { called_.add(endpoint, Deadline::max()); }
  // Closes those by which nobody has said hello in time [HELLO-11]. Not while the transport calls.
  void close_late(Deadline now) {
    for (const ucp_ep_h endpoint : called_.take_late(now)) close(endpoint, true);
  }

  void close(Peer& peer, bool by_force);
  // Flushes what was said last; is_closing() until it is out.
  void let_out(ucp_ep_h endpoint);
  void stop_listening();
  bool is_closing() const { return closing_ > 0; }

 private:
  Status listen();
  Status find_address();
  Status call(Bytes place, ucp_ep_h* endpoint);
  ucp_ep_params_t params(ucp_err_handling_mode_t mode);
  void close(ucp_ep_h endpoint, bool by_force);
  ucp_request_param_t closing_param();
  static void on_call(ucp_conn_request_h request, void* endpoints);
  static void on_error(void* endpoints, ucp_ep_h endpoint, ucs_status_t status);

  UcxFabric& fabric_;
  Messenger& messenger_;
  const PeerTable& table_;
  const Failed failed_;
  std::vector<std::byte> transport_address_;
  ucp_listener_h listener_ = nullptr;
  // Of those who have not said hello yet, or whom this worker has called too.
  CalledEndpoints called_;
  bool is_looking_for_late_ = false;  // after the poll
  // Endpoints whose last words are under way, or that are being closed.
  std::size_t closing_ = 0;
};

}  // namespace iw::fabric
