// The asking side of access by messages (access_messages.h): a worker's questions to its peers
// about their memory, until they are answered.
//
// Invariants: an answer counts only if it finds its question (open_questions.h) and is as long as
// it should be. A question ends once: when all of it is answered or its peer is dead, and the
// transport has let go of its buffer. Little more than unanswered_bytes_max is asked of a peer at a
// time; further questions wait their turn.
#pragma once

#include <cstdint>
#include <list>

#include "fabric/access_messages.h"
#include "fabric/open_questions.h"
#include "fabric/secrets.h"

namespace iw::fabric {

class Asker;
class Messenger;
class Peers;
class PeerTable;
class UcxWindow;
struct Peer;

// As a Completion, it is done when the transport has taken a piece of a put.
struct Question : Completion, OpenQuestion {
  Asker* asker = nullptr;
  Completion* whose = nullptr;  // nullptr: nobody waits any more
  Request request;              // for the next piece
  std::uint32_t unasked = 0;    // pieces
  std::uint32_t expected = 0;   // pieces that were asked for
  std::size_t unasked_bytes = 0, expected_bytes = 0;
  std::byte* to = nullptr;  // of a get
  std::uint64_t* before = nullptr;
  std::uint64_t puts = 0;  // that are settled when this is answered
  unsigned in_transport = 0;
  Status result = Status::ok;
};

// The questions to one peer.
struct Asked {
  std::size_t unanswered_bytes = 0;
  std::list<Question*> waiting;
  std::uint64_t puts = 0, puts_settled = 0;
};

// The worker's lock guards an asker: its owner declares it so. All calls are of windows whose peer
// is connected. The results are those of the worker's operations.
class Asker {
 public:
  Asker(PeerTable& table, Messenger& messenger, Peers& peers)
      : table_(table), messenger_(messenger), peers_(peers) {}

  // is_told: the put is done only when it and all earlier puts are visible.
  Status put(const UcxWindow& to, std::size_t offset, Bytes from, bool is_told, Completion* done);
  Status get(const UcxWindow& from, std::size_t offset, std::span<std::byte> to, Completion* done);
  Status fetch_add(const UcxWindow& at, std::size_t offset, std::uint64_t add,
                   std::uint64_t* before, Completion* done);
  Status compare_swap(const UcxWindow& at, std::size_t offset, std::uint64_t expected,
                      std::uint64_t desired, std::uint64_t* before, Completion* done);
  Status flush(PeerId peer, Completion* done);
  // The Completion is not called any more. Returns false if the transport still uses the question's
  // buffer, or if no question has that Completion.
  bool forget(const Completion* done);

  void take(const Answer& answer, Bytes data);
  void end_all(PeerId peer, Status why);

 private:
  Question* add(PeerId peer, const Request& request, Completion* done);
  Status ask(Question* question);
  void ask_what_waits(Peer& peer);
  bool ask_pieces(Peer& peer, Question* question);
  bool send(PeerId peer, const Request& request, Bytes data, Completion* sent, unsigned* pending);
  void drop_unasked(Question* question);
  static void on_sent(Completion& self, Status status);
  void end_if_over(Question* question);

  PeerTable& table_;
  Messenger& messenger_;
  Peers& peers_;
  Secrets secrets_;
  OpenQuestions<Question> questions_;
};

}  // namespace iw::fabric
