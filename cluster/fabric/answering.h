// The answering side of access by messages (access_messages.h): does what peers ask for with this
// process's memory. It runs in the thread that progresses the worker.
//
// Invariants: a request counts only if it comes from a peer, and reaches only memory that Regions
// allows. An answer has a copy of the memory, which may be freed while the answer travels. A peer
// that asks more at once than it may, and does not take the answers, is not answered [FAB-6].
#pragma once

#include <memory>
#include <vector>

#include "fabric/access_messages.h"
#include "fabric/regions.h"

namespace iw::fabric {

class Messenger;
class PeerTable;
struct Peer;

// The answers to one peer.
struct Answered {
  std::size_t bytes_on_the_way = 0;  // of answers
  Status refused = Status::ok;       // of a put, until the peer is told
};

// The worker's lock guards an answerer: its owner declares it so.
class Answerer {
 public:
  Answerer(PeerTable& table, Messenger& messenger, Regions& regions)
      : table_(table), messenger_(messenger), regions_(regions) {}
  void take(const Request& request, Bytes data);

 private:
  // An answer that the transport has not taken yet.
  struct Reply : Completion {
    Answerer* answerer = nullptr;
    PeerId to = 0;
    std::size_t bytes = 0;
    std::unique_ptr<std::byte[]> piece;  // of a get
  };
  void answer_get(Peer& peer, const Request& request);
  void send(Peer& peer, const Request& request, Status status, std::uint64_t before, Bytes data,
            Reply* reply);
  Reply* take_reply();
  void give_back(Reply* reply);
  static void on_sent(Completion& self, Status status);

  PeerTable& table_;
  Messenger& messenger_;
  Regions& regions_;
  std::vector<std::unique_ptr<Reply>> replies_;
  std::vector<Reply*> free_replies_;
};

}  // namespace iw::fabric
