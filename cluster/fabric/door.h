// A process's door: a TCP socket at which others ask for a worker's transport address, and the
// lifelines, the connections that stay open from the first such question on. A lifeline that breaks
// says that the process at its other end is gone: at once for one that died, after some 15 s for a
// machine that did.
//
// Invariants: what comes from strangers is of fixed size, kept for few at a time, and answered only
// if it names this process by its nonce. Nobody is told an address or has a lifeline before both
// sides have proven the job key (spec/cluster/hello.x). When there are too many strangers, or no
// descriptor is free for another, the next wait outside (in the listener's backlog): one that is
// turned away twice takes this process for dead. Strangers are put out that have not proven the key
// in time [HELLO-10].
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <vector>

#include "fabric/hello_messages.h"
#include "fabric/passes.h"
#include "fabric/process_name.h"
#include "fabric/strangers.h"
#include "platform/mutex.h"

namespace iw::fabric {

// Which worker asks, and what it may say afterwards.
struct Caller {
  ProcessName process{};
  std::uint32_t worker = 0;
  Pass pass{};
};

// The answer of a door.
struct Admission {
  std::vector<std::byte> transport_address;
  Pass pass{};
};

class Door {
 public:
  // The door's handle() calls both. `admit` returns an empty answer if the worker does not exist.
  // Otherwise the caller's pass is good from then on.
  struct Callbacks {
    std::function<std::vector<std::byte>(std::uint32_t worker, const Caller& caller)> admit;
    std::function<void(const ProcessName& process)> died;
  };
  // patience: how long a stranger may take to ask, and to prove the key.
  // A door without a secret key opens to this machine only, and asks at no other machine's.
  Door(const ProcessName& me, const JobKey& key, Strangers& strangers, bool this_machine_only,
       Callbacks callbacks, std::chrono::milliseconds patience = door_patience);
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  bool is_open() const { return listener_ >= 0; }
  const Place& place() const { return place_; }
  // Asks at another's door, for this process's worker of that number. peer_dead if nobody is there
  // any more, it hangs up twice, or the worker is not there; refused if the two do not prove the
  // same key to each other.
  Status ask(const AddressParts& whom, std::uint32_t asking_worker, Deadline deadline,
             Admission* admission);

  // Of the service thread: readable when there is something to handle().
  int event_fd() const { return epoll_; }
  // To be called every now and then even if it is not, for the patience to end.
  void handle();

 private:
  struct Visitor {
    Deadline speaks_until{};  // of a stranger
    std::vector<std::byte> received{};
    // From the question on, until the proof has come.
    bool is_challenged = false;
    DoorQuestion question{};
    Nonce of_asked{};
    ProcessName name{};
    bool is_lifeline = false;
  };
  void accept_all();
  void listen_again();
  void put_out_the_late();
  void read(int fd);
  bool hear(int fd, Visitor& visitor);
  bool answer_question(int fd, Visitor& visitor);
  bool answer_proof(int fd, Visitor& visitor);
  bool admit(int fd, Visitor& visitor);
  std::string why_unreachable(const AddressParts& whom) const;
  Status ask_once(const AddressParts& whom, DoorQuestion question, Deadline deadline,
                  Admission* admission, int* fd);
  Status prove_each_other(int fd, const DoorQuestion& question, Deadline deadline, Pass* pass);
  void hang_up(int fd);
  bool wants_lifeline(const ProcessName& process);
  void watch(int fd, Visitor visitor);
  bool watch_fd(int fd) const;
  void watch_listener(bool is_watched) const;

  const ProcessName me_;
  const JobKey key_;
  Strangers& refusals_;
  Callbacks callbacks_;
  const std::chrono::milliseconds patience_;
  Place place_;
  int listener_ = -1;
  int epoll_ = -1;
  // The listener is not watched, because nobody can be let in now; of the service thread.
  bool is_shut_ = false;
  platform::Mutex mutex_;
  std::map<int, Visitor> visitors_ IW_GUARDED_BY(mutex_);
  std::size_t strangers_ IW_GUARDED_BY(mutex_) = 0;
};

}  // namespace iw::fabric
