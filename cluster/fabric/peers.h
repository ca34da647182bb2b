// A worker's peers: how two workers come to know each other, and how they lose each other.
//
// The worker that connects asks at the other process's door for the transport's address, and gets a
// pass. Then it says hello: its own addresses, and the tag of its entry of the other. That one
// answers with a welcome that says its tag. From then on each message begins with the tag that its
// receiver knows. Both prove the job key (spec/cluster/hello.x). Two that connect to each other at
// once use the same pair of entries.
//
// Invariant: nothing of a hello or a welcome is used before its proof has been checked, but to find
// what the proof covers [HELLO-7].
//
//   a peer is    from                                until
//   connecting   it answered at its door             its welcome, its own hello, or its death
//   connected    its welcome, or its hello           its goodbye, its death, an error of the way
//   dead         one of these                        its place in the table is used again
//
// A worker that said goodbye, or that was lost because this one took another transport, may become
// a peer anew [HELLO-12]. One whose process ended may not.
//
// The worker's lock guards its peers: their owner declares it so. The callbacks run with it held.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fabric/door.h"
#include "fabric/endpoints.h"
#include "fabric/hello_messages.h"
#include "fabric/messenger.h"
#include "fabric/passes.h"
#include "fabric/peer_table.h"
#include "fabric/strangers.h"

namespace iw::fabric {

class Peers {
 public:
  struct Callbacks {
    std::function<void(PeerId)> connected;
    std::function<void(PeerId, Status why)> lost;
  };
  Peers(const Address& own, UcxFabric& fabric, Messenger& messenger, PeerTable& table,
        Passes& passes, Callbacks callbacks);

  Status start();  // afterwards hellos are taken
  const std::vector<std::byte>& transport_address() const { return endpoints_.transport_address(); }
  // A door gave this admission to its worker. Opens a way there, if the worker was not a peer yet.
  // It is a peer then.
  Status introduce(const AddressParts& parts, const Admission& admission);
  // To be called now and then, not while the transport calls.
  void close_late(Deadline now) { endpoints_.close_late(now); }
  // After the transport has returned, because an endpoint may not be closed within it.
  void fail_soon(PeerId peer, Status why);
  // Handles first what the dead sent last.
  void bury(std::vector<ProcessName> dead);
  // Whether the process, which has ended, may have been writing to this worker over shared memory.
  bool may_have_written(const ProcessName& ended) const;

  // This worker has another transport, in this order [UCX-12]. is_closing() says after each whether
  // to progress the one before.
  void say_goodbye_before_move();
  void lose_all();

  // The end of the worker, in this order; is_closing() says after each whether to progress on.
  void say_goodbye_to_all();
  void close_all();
  bool is_closing() const { return endpoints_.is_closing(); }

 private:
  void fail(PeerId peer, Status why);
  void lose(PeerId peer, Status why);
  void say_goodbye(const Peer& peer);
  void move_own(Peer& own);
  void fail_endpoint(ucp_ep_h endpoint, ucs_status_t status);
  Status introduce(PeerId peer);
  Status say_hello(PeerId peer);
  Hello hello_to(const Peer& peer) const;
  Peer* find_unmoved(const AddressParts& parts, Bytes transport_address);
  void take_hello(const Hello& hello, Bytes transport_address, ucp_ep_h came_by);
  void take_welcome(const Hello& welcome);
  void answer_hello(Peer& peer, const Hello& hello, const Pass& pass);
  std::string why_not_taken(const Hello& hello, const char* label, const Pass& pass,
                            Bytes transport_address) const;
  bool has_pass(const Hello& hello, Bytes transport_address, Pass* pass);
  static ucs_status_t on_hello(void*, const void*, std::size_t, void*, std::size_t,
                               const ucp_am_recv_param_t*);
  static ucs_status_t on_welcome(void*, const void*, std::size_t, void*, std::size_t,
                                 const ucp_am_recv_param_t*);
  static ucs_status_t on_goodbye(void*, const void*, std::size_t, void*, std::size_t,
                                 const ucp_am_recv_param_t*);

  const Address& own_;
  const std::uint64_t host_;
  const JobKey& key_;
  Strangers& strangers_;
  Messenger& messenger_;
  PeerTable& table_;
  Passes& passes_;
  const Callbacks callbacks_;
  Endpoints endpoints_;
};

}  // namespace iw::fabric
