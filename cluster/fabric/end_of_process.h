// Keeps threads out of the transport while it takes itself down at the end of the process [UCX-18].
#pragma once

#include "fabric/worker_lock.h"

namespace iw::fabric {

// While it lives, the end of the process takes the worker's lock and keeps it. Until then threads
// work as they did, also while functions of atexit run.
class EndsWithProcess {
 public:
  explicit EndsWithProcess(WorkerLock& lock);
  ~EndsWithProcess();
  EndsWithProcess(const EndsWithProcess&) = delete;
  EndsWithProcess& operator=(const EndsWithProcess&) = delete;

 private:
  WorkerLock& lock_;
};

}  // namespace iw::fabric
