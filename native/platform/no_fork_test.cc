// Forks while other threads take locks: only on POSIX systems.
#include "platform/no_fork.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>

#include "platform/clock.h"

namespace iw::platform {
namespace {

[[noreturn]] void end_child(int status) {
#if defined(__SANITIZE_THREAD__)
  (void)syscall(SYS_exit_group, status);  // the sanitizer takes the parent's threads for leaks
#endif
  _exit(status);
}

// The body's result is the exit status.
int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) end_child(body());
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Stays until a fork waits, and then 20 ms more. A fork that does not wait has ended by then.
void stay(const std::atomic<bool>& is_over) {
  while (!is_over && !NoFork::is_awaited()) std::this_thread::yield();
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  while (!is_over && std::chrono::steady_clock::now() < until) std::this_thread::yield();
}

TEST(NoFork, AForkWaitsForAThreadThatIsInside) {
  std::atomic<bool> is_inside{false}, has_forked{false};
  std::thread other([&] {
    const NoFork no_fork;
    is_inside = true;
    stay(has_forked);
    is_inside = false;
  });
  while (!is_inside) std::this_thread::yield();
  const int seen = in_child([&] { return is_inside ? 1 : 0; });
  has_forked = true;
  other.join();
  EXPECT_EQ(seen, 0);
  EXPECT_FALSE(NoFork::is_awaited());
}

TEST(NoFork, AChildFindsTheMutexOfANoForkLockFree) {
  Mutex mutex;
  std::atomic<bool> is_inside{false}, has_forked{false};
  std::thread other([&] {
    const NoForkLock lock(mutex);
    is_inside = true;
    stay(has_forked);
  });
  while (!is_inside) std::this_thread::yield();
  const int seen = in_child([&] {
    if (!mutex.try_lock()) return 1;
    mutex.unlock();
    return 0;
  });
  has_forked = true;
  other.join();
  EXPECT_EQ(seen, 0);
}

TEST(NoFork, ANewcomerWaitsForTheFork) {
  std::atomic<bool> is_inside{false}, has_come{false}, has_forked{false};
  std::thread first([&] {
    const NoFork no_fork;
    is_inside = true;
    stay(has_come);
  });
  std::thread newcomer([&] {
    while (!has_forked && !NoFork::is_awaited()) std::this_thread::yield();
    const NoFork no_fork;
    has_come = true;
  });
  while (!is_inside) std::this_thread::yield();
  const int seen = in_child([&] { return has_come ? 1 : 0; });
  has_forked = true;
  first.join();
  newcomer.join();
  EXPECT_EQ(seen, 0);
  EXPECT_TRUE(has_come);
}

TEST(NoFork, AThreadThatIsInsideForksAtOnceAndItsChildToo) {
  const std::int64_t begin_ns = now_ns();
  {
    const NoFork no_fork;
    const NoFork another;
    EXPECT_EQ(in_child([] {
                const NoFork in_the_child;
                return in_child([] { return 7; });
              }),
              7);
  }
  EXPECT_EQ(in_child([] { return in_child([] { return 8; }); }), 8);
  EXPECT_LT(now_ns() - begin_ns, NoFork::patience_ns);
}

TEST(NoFork, AThreadThatIsInsideComesInAgainWhileAForkWaitsForIt) {
  const std::int64_t begin_ns = now_ns();
  std::atomic<bool> is_inside{false}, has_forked{false};
  std::thread other([&] {
    const NoFork no_fork;
    is_inside = true;
    while (!has_forked && !NoFork::is_awaited()) std::this_thread::yield();
    const NoFork again;
  });
  while (!is_inside) std::this_thread::yield();
  EXPECT_EQ(in_child([] { return 9; }), 9);
  has_forked = true;
  other.join();
  EXPECT_LT(now_ns() - begin_ns, NoFork::patience_ns);
}

// A child of a thread that was inside leaves, and then waits for its own threads as its parent did.
TEST(NoFork, AChildCountsItsOwnThreads) {
  std::optional<NoFork> no_fork;
  no_fork.emplace();
  const int seen = in_child([&] {
    no_fork.reset();
    std::atomic<bool> is_inside{false}, has_forked{false};
    std::thread other([&] {
      const NoFork mine;
      is_inside = true;
      stay(has_forked);
      is_inside = false;
    });
    while (!is_inside) std::this_thread::yield();
    const int grandchild = in_child([&] { return is_inside ? 1 : 0; });
    has_forked = true;
    other.join();
    return grandchild;
  });
  EXPECT_EQ(seen, 0);
}

// Threads that go in and out all the time hold no fork off, nor do forks hold them off.
TEST(NoFork, ForksAndThreadsTakeTurns) {
  constexpr int forks = 20;
  std::atomic<bool> is_over{false};
  std::array<std::atomic<int>, 3> turns{};
  std::array<std::thread, turns.size()> threads;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    threads[i] = std::thread([&is_over, &mine = turns[i]] {
      while (!is_over) {
        const NoFork no_fork;
        ++mine;
      }
    });
  }
  const std::int64_t begin_ns = now_ns();
  for (int i = 0; i < forks; ++i) EXPECT_EQ(in_child([] { return 0; }), 0);
  for (std::atomic<int>& each : turns) {
    while (each < forks) std::this_thread::yield();
  }
  EXPECT_LT(now_ns() - begin_ns, NoFork::patience_ns);
  is_over = true;
  for (std::thread& each : threads) each.join();
}

}  // namespace
}  // namespace iw::platform
