#include "ddss/current.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "platform/mutex.h"

namespace iw::ddss {
namespace {

std::atomic<Backend*> current{nullptr};

using Mark = std::atomic<bool>;  // true: its thread is in a call

// The marks of all threads. Never destroyed, because threads may end after everything else.
struct Marks {
  platform::Mutex mutex;
  std::vector<const Mark*> all IW_GUARDED_BY(mutex);
};
Marks& marks() {
  static auto* const of_process = new Marks;
  return *of_process;
}

struct alignas(64) OwnMark {
  OwnMark() {
    const platform::MutexLock held(marks().mutex);
    marks().all.push_back(&mark);
  }
  ~OwnMark() {
    const platform::MutexLock held(marks().mutex);
    std::erase(marks().all, &mark);
  }
  Mark mark{false};
};

// The thread that ends the backend lets the system run a memory barrier in every thread, so that a
// call needs no barrier. Where the system cannot, each call has a barrier.
const bool has_membarrier =
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;

void order_mark_and_backend() {
  if (has_membarrier) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

void order_for_all_threads() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (has_membarrier) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

Mark& own_mark() {
  static thread_local OwnMark own;
  return own.mark;
}

void wait_until_left(const Mark& mark) {
  constexpr int yields = 100;
  constexpr std::chrono::microseconds nap{50};
  for (int i = 0; mark.load(); i++) {
    if (i < yields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(nap);
    }
  }
}

}  // namespace

bool has_current() { return current.load() != nullptr; }

bool make_current(std::unique_ptr<Backend> backend) {
  Backend* none = nullptr;
  if (!current.compare_exchange_strong(none, backend.get())) return false;
  backend.release();
  return true;
}

std::unique_ptr<Backend> take_current() {
  std::unique_ptr<Backend> taken(current.exchange(nullptr));
  order_for_all_threads();
  const platform::MutexLock held(marks().mutex);
  for (const Mark* each : marks().all) wait_until_left(*each);
  return taken;
}

// Either this finds that the backend is gone, or take_current() finds the mark and waits. The first
// look sets no mark, so that a call without a backend does not delay take_current().
Visit::Visit() {
  if (current.load(std::memory_order_relaxed) == nullptr) return;
  own_mark().store(true, std::memory_order_relaxed);
  order_mark_and_backend();
  backend_ = current.load(std::memory_order_acquire);
}

Visit::~Visit() { own_mark().store(false, std::memory_order_release); }

}  // namespace iw::ddss
