// A process's door: a TCP socket at which others ask for a worker's transport address, and the
// lifelines, the connections that stay open from the first such question on. A lifeline that breaks
// says that the process at its other end is gone: at once for one that died, after some 15 s for a
// machine that did.
//
// Invariants: what comes from strangers is of fixed size, kept for few at a time, and answered only
// if it names this process by its nonce; only who did so has a lifeline. When there are too many
// strangers, the next wait outside (in the listener's backlog): one that is turned away would take
// this process for dead. Meanwhile those that say nothing are put out.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <vector>

#include "fabric/process_name.h"
#include "platform/mutex.h"

namespace iw::fabric {

inline constexpr std::size_t transport_address_bytes_max = 4096;

class Door {
 public:
  // Both are called by handle(). An empty answer: there is no such worker.
  struct Calls {
    std::function<std::vector<std::byte>(std::uint32_t worker)> transport_address;
    std::function<void(const ProcessName& process)> died;
  };
  // patience: for how long a stranger may say nothing while others wait outside.
  Door(const ProcessName& me, bool this_machine_only, Calls calls,
       std::chrono::milliseconds patience = std::chrono::seconds(5));
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  bool is_open() const { return listener_ >= 0; }
  const Place& place() const { return place_; }
  // Asks at another's door; peer_dead if nobody is there any more, or the worker is not.
  Status ask(const AddressParts& whom, Deadline deadline,
             std::vector<std::byte>* transport_address);

  // Of the service thread: readable when there is something to handle().
  int event_fd() const { return epoll_; }
  // To be called every now and then even if it is not, for the patience to end.
  void handle();

 private:
  struct Caller {
    Deadline speaks_until{};  // of a stranger
    std::vector<std::byte> received{};
    ProcessName name{};
    bool is_lifeline = false;
  };
  void accept_all();
  void listen_again();
  void put_out_the_silent();
  void read(int fd);
  bool answer(int fd, Caller& caller);
  void hang_up(int fd);
  bool wants_lifeline(const ProcessName& process);
  void watch(int fd, Caller caller);
  bool watch_fd(int fd) const;
  void watch_listener(bool is_watched) const;

  ProcessName me_;
  Calls calls_;
  const std::chrono::milliseconds patience_;
  Place place_;
  int listener_ = -1;
  int epoll_ = -1;
  bool is_full_ = false;  // the listener is not watched; of the service thread
  platform::Mutex mutex_;
  std::map<int, Caller> callers_ IW_GUARDED_BY(mutex_);
  std::size_t strangers_ IW_GUARDED_BY(mutex_) = 0;
};

}  // namespace iw::fabric
