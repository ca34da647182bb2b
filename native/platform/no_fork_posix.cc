// See no_fork.h.
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "platform/clock.h"
#include "platform/mutex.h"
#include "platform/no_fork.h"

namespace iw::platform {

namespace {

constexpr std::uint32_t one_thread = 4;
// The lowest bits of `arrived`: a thread forks, and which of two that follow each other.
constexpr std::uint32_t forking = 2;
constexpr std::uint32_t which = 1;
constexpr std::uint32_t fork_bits = forking | which;
// A fork takes about this long, and forks are rare.
constexpr std::chrono::microseconds pause{50};

// Numbers of threads, which begin anew after the largest one.
std::atomic<std::uint32_t> arrived{0};
std::atomic<std::uint32_t> departed{0};

// The thread that forks has it from before until after.
Mutex turn;
std::uint32_t last IW_GUARDED_BY(turn) = 0;

// The number of this thread's NoFork objects; a fork under way counts as one.
__attribute__((tls_model("initial-exec")))  // a signal handler may fork, and must not take memory
thread_local constinit unsigned depth = 0;

template <typename Asked>
void wait_until(Asked is_so) noexcept {
  if (is_so()) return;
  const std::int64_t deadline_ns = now_ns() + NoFork::patience_ns;
  while (!is_so() && now_ns() < deadline_ns) std::this_thread::sleep_for(pause);
}

// Not analysed: the first is called before a fork, one of the other two after it.
void before_fork() IW_NO_THREAD_SAFETY_ANALYSIS {
  turn.lock();
  last ^= which;
  const std::uint32_t those_before = arrived.fetch_add(forking | last);
  const std::int32_t own = depth > 0 ? one_thread : 0;
  wait_until([&] { return static_cast<std::int32_t>(those_before - departed.load()) <= own; });
  ++depth;
}

void in_parent() IW_NO_THREAD_SAFETY_ANALYSIS {
  --depth;
  arrived.fetch_and(~fork_bits);
  turn.unlock();
}

// The other threads are not there any more.
void in_child() IW_NO_THREAD_SAFETY_ANALYSIS {
  --depth;
  const std::uint32_t all = arrived.load() & ~fork_bits;
  departed.store(depth > 0 ? all - one_thread : all);
  arrived.store(all);
  turn.unlock();
}

// Registered when the library is loaded, so that no fork can come before it.
[[maybe_unused]] const int waits_registered = pthread_atfork(before_fork, in_parent, in_child);

}  // namespace

// A signal handler that forks between the two lines finds this thread inside.
NoFork::NoFork() noexcept {
  if (depth++ > 0) return;
  const std::uint32_t fork = arrived.fetch_add(one_thread) & fork_bits;
  if (fork == 0) return;
  wait_until([&] { return (arrived.load() & fork_bits) != fork; });
}

NoFork::~NoFork() {
  if (depth == 1) departed.fetch_add(one_thread);
  --depth;
}

bool NoFork::is_awaited() noexcept { return (arrived.load() & forking) != 0; }

}  // namespace iw::platform
