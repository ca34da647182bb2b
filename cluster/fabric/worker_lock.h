// The lock of a worker: held by the thread that progresses it, and so while its handlers run, whose
// calls into the same worker find it held by themselves.
#pragma once

#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "platform/mutex.h"

namespace iw::fabric {

// Taken and given back twice a message, nearly always by the same thread: one atomic exchange and
// one plain store. A thread that must wait yields, then sleeps a little at a time; nobody is woken.
class IW_CAPABILITY("worker lock") WorkerLock {
 public:
  bool is_mine() const { return owner_.load(std::memory_order_relaxed) == me(); }

  // Not analysed: who has it already counts.
  void lock() IW_ACQUIRE() IW_NO_THREAD_SAFETY_ANALYSIS {
    if (is_mine()) {
      depth_++;
      return;
    }
    if (!try_lock()) wait();
  }

  // Not for the thread that holds it.
  bool try_lock() IW_TRY_ACQUIRE(true) {
    const void* nobody = nullptr;
    return owner_.compare_exchange_strong(nobody, me(), std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }

  void unlock() IW_RELEASE() IW_NO_THREAD_SAFETY_ANALYSIS {
    if (depth_ > 0) {
      depth_--;
      return;
    }
    owner_.store(nullptr, std::memory_order_release);
  }

  // For the analysis: the caller runs with it held, as handlers do. Checks nothing.
  void assert_held() const IW_ASSERT_CAPABILITY(this) {}

  // For threads that poll: lets those in who wait, since the lock is not fair.
  void let_others_in() const {
    if (waiting_.load(std::memory_order_relaxed) > 0) sched_yield();
  }

 private:
  static const void* me() {
    static thread_local char mark;
    return &mark;
  }

  void wait() IW_ACQUIRE() {
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

// Holds it until the end of the scope.
class IW_SCOPED_CAPABILITY Held {
 public:
  explicit Held(WorkerLock& lock) IW_ACQUIRE(lock) : lock_(lock) { lock_.lock(); }
  ~Held() IW_RELEASE() { lock_.unlock(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  WorkerLock& lock_;
};

}  // namespace iw::fabric
