// The lock of a worker: held by the thread that progresses it, and so while its handlers run, whose
// calls into the same worker find it held by themselves.
#pragma once

#include <sched.h>

#include <atomic>
#include <mutex>

namespace iw::fabric {

class WorkerLock {
 public:
  bool is_mine() const { return owner_.load(std::memory_order_relaxed) == me(); }

  void lock() {
    if (is_mine()) {
      depth_++;
      return;
    }
    if (!mutex_.try_lock()) {
      waiting_.fetch_add(1, std::memory_order_relaxed);
      mutex_.lock();
      waiting_.fetch_sub(1, std::memory_order_relaxed);
    }
    owner_.store(me(), std::memory_order_relaxed);
  }

  // Not for the thread that holds it.
  bool try_lock() {
    if (!mutex_.try_lock()) return false;
    owner_.store(me(), std::memory_order_relaxed);
    return true;
  }

  void unlock() {
    if (depth_ > 0) {
      depth_--;
      return;
    }
    owner_.store(nullptr, std::memory_order_relaxed);
    mutex_.unlock();
  }

  // For threads that poll: lets those in who wait, since the mutex is not fair.
  void let_others_in() const {
    if (waiting_.load(std::memory_order_relaxed) > 0) sched_yield();
  }

 private:
  static const void* me() {
    static thread_local char mark;
    return &mark;
  }
  std::mutex mutex_;
  std::atomic<const void*> owner_{nullptr};
  int depth_ = 0;  // how often more its owner has taken it
  std::atomic<int> waiting_{0};
};

using Held = std::lock_guard<WorkerLock>;

}  // namespace iw::fabric
