#include "fabric/end_of_process.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "platform/mutex.h"

namespace iw::fabric {
namespace {

// A handler of the program's that does not return must not keep the process.
constexpr std::chrono::seconds patience{1};
constexpr std::chrono::microseconds nap{50};

struct Locks {
  platform::Mutex mutex;
  std::vector<WorkerLock*> all IW_GUARDED_BY(mutex);
  pid_t process IW_GUARDED_BY(mutex) = 0;
};

// Never destroyed, because the end of the process uses it.
Locks& locks() {
  static auto* const only = new Locks;
  return *only;
}

// Not analysed: the locks are kept.
void take(WorkerLock& lock,
          std::chrono::steady_clock::time_point until) IW_NO_THREAD_SAFETY_ANALYSIS {
  while (!lock.is_mine() && !lock.try_lock() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(nap);
  }
}

// Behind all functions of atexit, and before the transport's own end: what was loaded last ends
// first. A child of a fork has none of the threads.
[[gnu::destructor]] void keep_threads_out() {
  const platform::MutexLock held(locks().mutex);
  if (locks().process != getpid()) return;
  const auto until = std::chrono::steady_clock::now() + patience;
  for (WorkerLock* const each : locks().all) take(*each, until);
}

}  // namespace

EndsWithProcess::EndsWithProcess(WorkerLock& lock) : lock_(lock) {
  const platform::MutexLock held(locks().mutex);
  locks().process = getpid();
  locks().all.push_back(&lock);
}

EndsWithProcess::~EndsWithProcess() {
  const platform::MutexLock held(locks().mutex);
  std::erase(locks().all, &lock_);
}

}  // namespace iw::fabric
