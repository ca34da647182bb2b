// What a node does of its own accord and has to wait for: neither a handler nor a call that answers
// at once may. One thread, from the first errand on, runs them one after the other.
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

  // From anywhere. Dropped after end().
  void run(std::function<void()> errand);
  // Waits for the errand that is being run; the others are dropped. Not for an errand to call.
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
