// The service thread: progresses the workers that nobody polls or waits on, and keeps the door.
//
// It looks at a worker's count of polls. While that moves, or a thread waits on the worker, it
// leaves the worker alone, and looks again after a tick. Else it progresses the worker, arms it and
// sleeps until something arrives. When it has armed all, or the rest are waited on by threads that
// sleep themselves, it sleeps without a tick; then whoever stops waiting, or leaves something under
// way, nudges it.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "fabric/door.h"

namespace iw::fabric {

class UcxWorker;

class Service {
 public:
  explicit Service(Door& door);
  ~Service();
  void start();
  void stop();  // afterwards the thread has ended
  void add(UcxWorker* worker);
  void remove(UcxWorker* worker);  // afterwards the service knows it no more
  // Called by the door, on this thread.
  void note_death(const ProcessName& process);
  std::vector<std::byte> transport_address(std::uint32_t worker) const;

  void nudge_if_asleep() {
    if (is_asleep_.load() && is_asleep_.exchange(false)) nudge();
  }

 private:
  struct Client {
    UcxWorker* worker;
    std::uint64_t polls = 0;
    bool is_watched = false;  // its descriptor is in the set
  };
  enum class Care { armed, waited_on, polled, busy };
  void run();
  Care look_after(Client& client);
  bool round();  // true: another must follow within a tick
  void watch(Client& client);
  void nudge();
  void sleep(bool is_tick);

  Door& door_;
  int epoll_ = -1;
  int nudge_fd_ = -1;
  std::atomic<bool> is_asleep_{false};
  std::atomic<bool> is_stopping_{false};
  bool is_busy_ = false;
  mutable std::mutex mutex_;
  std::vector<Client> clients_;
  std::thread thread_;
};

}  // namespace iw::fabric
