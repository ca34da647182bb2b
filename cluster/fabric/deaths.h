// Processes that have ended: noted by the service thread, which keeps the door, and taken by
// whichever thread progresses the worker next. While it is to look again, is_any() is true.
#pragma once

#include <atomic>
#include <utility>
#include <vector>

#include "fabric/process_name.h"
#include "platform/mutex.h"

namespace iw::fabric {

class Deaths {
 public:
  void note(const ProcessName& process) {
    {
      const platform::MutexLock held(mutex_);
      dead_.push_back(process);
    }
    is_any_ = true;
  }
  bool is_any() const { return is_any_.load(std::memory_order_acquire); }
  // The worker has more to do about the last deaths.
  void look_again() { is_any_ = true; }
  std::vector<ProcessName> take() {
    const platform::MutexLock held(mutex_);
    is_any_ = false;
    return std::exchange(dead_, {});
  }

 private:
  platform::Mutex mutex_;
  std::vector<ProcessName> dead_ IW_GUARDED_BY(mutex_);
  std::atomic<bool> is_any_{false};
};

}  // namespace iw::fabric
