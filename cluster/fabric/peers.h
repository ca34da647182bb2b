// A worker's peers: how two workers come to know each other, and how they lose each other.
//
// The worker that connects asks at the other process's door for the transport's address, then says
// hello: its own addresses, and the index at which it keeps the other. That one answers with a
// welcome that says its index. From then on each message begins with the index that its receiver
// knows. Two that connect to each other at once use the same pair of entries.
//
//   a peer is    from                                until
//   connecting   it answered at its door             its welcome, its own hello, or its death
//   connected    its welcome, or its hello           its goodbye, its death, an error of the way
//   dead         one of these                        its place in the table is used again
//
// The worker's lock guards its peers: their owner declares it so. The calls run with it held.
#pragma once

#include <functional>
#include <vector>

#include "fabric/endpoints.h"
#include "fabric/messenger.h"
#include "fabric/peer_table.h"

namespace iw::fabric {

class Peers {
 public:
  struct Calls {
    std::function<void(PeerId)> connected;
    std::function<void(PeerId, Status why)> lost;
  };
  Peers(const Address& own, UcxFabric& fabric, Messenger& messenger, PeerTable& table, Calls calls);

  Status start();  // afterwards hellos are taken
  const std::vector<std::byte>& transport_address() const { return endpoints_.transport_address(); }
  // Opens a way to a worker whose door gave this address. The peer is in the table then,
  // connecting.
  Status introduce(const AddressParts& parts, Bytes transport_address);
  // After the transport has returned, because an endpoint may not be closed within it.
  void fail_soon(PeerId peer, Status why);
  // Handles first what the dead sent last.
  void bury(std::vector<ProcessName> dead);

  // The end of the worker, in this order; is_closing() says after each whether to progress on.
  void say_goodbye_to_all();
  void close_all();
  bool is_closing() const { return endpoints_.is_closing(); }

 private:
  struct Hello {
    Address address;
    PeerId index_of_receiver;
    PeerId index_here;  // welcome only
  };
  void fail(PeerId peer, Status why);
  void fail_endpoint(ucp_ep_h endpoint, ucs_status_t status);
  Status introduce(PeerId peer);
  Status say_hello(PeerId peer);
  void take_hello(Bytes header, Bytes transport_address, ucp_ep_h came_by);
  static ucs_status_t on_hello(void*, const void*, std::size_t, void*, std::size_t,
                               const ucp_am_recv_param_t*);
  static ucs_status_t on_welcome(void*, const void*, std::size_t, void*, std::size_t,
                                 const ucp_am_recv_param_t*);
  static ucs_status_t on_goodbye(void*, const void*, std::size_t, void*, std::size_t,
                                 const ucp_am_recv_param_t*);

  const Address& own_;
  Messenger& messenger_;
  PeerTable& table_;
  const Calls calls_;
  Endpoints endpoints_;
};

}  // namespace iw::fabric
