// How the threads that wait on a worker sleep until something arrives. One of them, the leader,
// sleeps on the transport's descriptor. The others sleep until the leader, or a thread that handled
// something, wakes them.
//
// Invariants: a thread counts as a sleeper before it looks for the last time at what it waits for.
// A thread that handled something reads that count afterwards. So no sleeper misses what another
// thread handled. Wakes are counted, because a wake may come between a sleeper's last look and its
// sleep. No mutex of this class is held while the worker's lock is taken.
#pragma once

#include <ucp/api/ucp.h>

#include <atomic>
#include <functional>

#include "fabric/fabric.h"
#include "platform/mutex.h"

namespace iw::fabric {

class Sleeper {
 public:
  using Look = std::function<bool()>;

  // Finds the descriptor. To be called before all else, and again for another transport. The first
  // one lives on, because threads may sleep on its descriptor.
  ucs_status_t open(ucp_worker_h transport);
  int event_fd() const { return event_fd_; }

  // Sleeps until something arrives, another thread wakes this one, or `until`. Both looks are made
  // without a mutex. A follower does not sleep if is_over() says that its wait has ended. The
  // leader sleeps only if arm() says that the descriptor tells of what arrives from now on.
  void sleep(Deadline until, const Look& is_over, const Look& arm);
  // The caller handled something that may be what the sleepers wait for.
  void tell() {
    if (sleepers_.load() > 0) wake();
  }
  // The same from the leader, which sleeps on the descriptor afterwards.
  void tell_followers();
  void wake();

 private:
  void follow(Deadline until, const Look& is_over) IW_REQUIRES(mutex_);
  void lead(Deadline until, const Look& arm) IW_REQUIRES(mutex_);
  void sleep_on_transport(Deadline until) const;
  void wake_followers() IW_REQUIRES(mutex_);

  std::atomic<ucp_worker_h> transport_{nullptr};
  std::atomic<int> event_fd_{-1};
  std::atomic<int> sleepers_{0};
  platform::Mutex mutex_;
  platform::Condition someone_woke_;
  bool has_leader_ IW_GUARDED_BY(mutex_) = false;
  std::uint64_t wakes_ IW_GUARDED_BY(mutex_) = 0;
};

}  // namespace iw::fabric
