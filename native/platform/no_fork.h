// A lock that another thread of the parent holds at a fork stays locked in the child for ever. So a
// thread that takes a lock which the child may need has a NoFork meanwhile. fork() waits for it.
// Such locks are those that all segments of a process share, and those inside of OpenSSL.
//
// A fork waits for the threads that are inside, and newcomers wait for the fork. So neither keeps
// the other off for long (the phase-fair lock of Brandenburg and Anderson). posix_spawn and
// system() do not wait: their child is another program.
//
// A thread inside must not wait for another one that may come in, nor for the network. It may take
// a mutex whose owners all are inside. Nobody waits longer than the patience: a program's own fork
// handlers, and the loader's lock, may tie a knot that cannot be seen from here.
#pragma once

#include <cstdint>

#include "platform/mutex.h"

namespace iw::platform {

class NoFork {
 public:
  static constexpr std::int64_t patience_ns = 5'000'000'000;

#if defined(_WIN32)
  NoFork() noexcept {}
  ~NoFork() {}
#else
  // In a thread that is inside, or that forks now, it does not wait.
  NoFork() noexcept;
  ~NoFork();
#endif
  NoFork(const NoFork&) = delete;
  NoFork& operator=(const NoFork&) = delete;

  // Whether a thread is in fork() now, and perhaps waits.
  static bool is_awaited() noexcept;
};

#if defined(_WIN32)
inline bool NoFork::is_awaited() noexcept { return false; }
#endif

// Keeps forks off and holds the mutex until the end of the scope.
class IW_SCOPED_CAPABILITY NoForkLock {
 public:
  explicit NoForkLock(Mutex& mutex) IW_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~NoForkLock() IW_RELEASE() { mutex_.unlock(); }
  NoForkLock(const NoForkLock&) = delete;
  NoForkLock& operator=(const NoForkLock&) = delete;

 private:
  const NoFork no_fork_;  // begins before the mutex is taken, ends after it is given back
  Mutex& mutex_;
};

}  // namespace iw::platform
