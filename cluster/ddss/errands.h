// Work that waits and that no call of the application asked for. Neither a handler nor a call that
// must return at once may do it. One thread, made for the first errand, runs them one at a time.
#pragma once

#include <deque>
#include <functional>
#include <thread>

#include "platform/mutex.h"

namespace iw::ddss {

class Errands {
 public:
  Errands() = default;
  ~Errands() { end(); }
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;

  // May be called from anywhere. After end() the errand is dropped.
  void run(std::function<void()> errand);
  // Waits for the errand that is running, and drops the others. REQUIRES: not called by an errand.
  void end();

 private:
  void have_thread() IW_REQUIRES(mutex_);
  void work();

  platform::Mutex mutex_;
  platform::Condition changed_;
  std::deque<std::function<void()>> waiting_ IW_GUARDED_BY(mutex_);
  bool is_over_ IW_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace iw::ddss
