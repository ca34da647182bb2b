// The answering side of access by messages (access_messages.h): does with this process's memory
// what peers ask for, whoever progresses the worker.
//
// Invariants: a request counts only if it comes from a peer, and is done only where Regions says
// that it may be; what is answered is a copy, so that the memory may go while it travels; a peer
// that asks more at once than it may, and does not take the answers, gets none.
#pragma once

#include <memory>
#include <vector>

#include "fabric/access_messages.h"
#include "fabric/regions.h"

namespace iw::fabric {

class Messenger;
class PeerTable;
struct Peer;

// Of a peer that asks.
struct Answered {
  std::size_t bytes_on_the_way = 0;  // of answers
  Status refused = Status::ok;       // a put, of which it has not been told yet
};

// The worker's lock guards an answerer: its owner declares it so.
class Answerer {
 public:
  Answerer(PeerTable& table, Messenger& messenger, Regions& regions)
      : table_(table), messenger_(messenger), regions_(regions) {}
  void take(const Request& request, Bytes data);

 private:
  // An answer, until the transport has taken it.
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
