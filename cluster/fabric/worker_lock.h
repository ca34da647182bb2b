// The lock of a worker: held by the thread that progresses it, and so while its handlers run, whose
// calls into the same worker find it held by themselves.
#pragma once

#include <sched.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace iw::fabric {

// Taken and given back twice a message, nearly always by the same thread: one atomic exchange and
// one plain store. Who must wait yields, then sleeps a little at a time; nobody is woken.
class WorkerLock {
 public:
  bool is_mine() const { return owner_.load(std::memory_order_relaxed) == me(); }

  void lock() {
    if (is_mine()) {
      depth_++;
      return;
    }
    if (!try_lock()) wait();
  }

  // Not for the thread that holds it.
  bool try_lock() {
    const void* nobody = nullptr;
    return owner_.compare_exchange_strong(nobody, me(), std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }

  void unlock() {
    if (depth_ > 0) {
      depth_--;
      return;
    }
    owner_.store(nullptr, std::memory_order_release);
  }

  // For threads that poll: lets those in who wait, since the lock is not fair.
  void let_others_in() const {
    if (waiting_.load(std::memory_order_relaxed) > 0) sched_yield();
  }

 private:
  static const void* me() {
    static thread_local char mark;
    return &mark;
  }

  void wait() {
    constexpr int yields = 100;
    constexpr std::chrono::microseconds nap{50};
    waiting_.fetch_add(1, std::memory_order_relaxed);
    for (int i = 0; !try_lock(); i++) {
      if (i < yields) {
        sched_yield();
      } else {
        std::this_thread::sleep_for(nap);
      }
    }
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }

  std::atomic<const void*> owner_{nullptr};
  int depth_ = 0;  // how often more its owner has taken it
  std::atomic<int> waiting_{0};
};

using Held = std::lock_guard<WorkerLock>;

}  // namespace iw::fabric
