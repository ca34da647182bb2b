// A forked child has the locks of its parent's other threads as they were, and nobody opens them.
// So a thread that takes a lock which the child may need has a NoFork meanwhile, and fork() waits
// for it: locks of this library that all segments of a process share, and those inside of OpenSSL.
//
// Each fork waits for those that are inside, and newcomers wait for it; so neither keeps the other
// off for long (the phase-fair lock of Brandenburg and Anderson). posix_spawn and system() do not
// wait: their child is another program.
//
// A thread inside must not wait for another one that may come in, nor for the network. It may take
// a mutex whose owners all are inside. Nobody waits longer than the patience: a program's own fork
// handlers, and the loader's lock, may tie a knot that cannot be seen from here.
#pragma once

#include <cstdint>

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

}  // namespace iw::platform
