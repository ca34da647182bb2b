// The cost of a reader lock whose copy is recent enough and that no other thread contends for: no
// message, no allocation, and the segment's mutex once for the acquire and once for the release.
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <string>
#include <vector>

#include "abi/tests/pads.h"
#include "abi/tests/scarce_memory.h"
#include "abi/tests/server_process.h"
#include "abi/tests/statistics.h"
#include "interweave.h"

// The linker leads the library's calls here (--wrap).
extern "C" {
int __real_pthread_mutex_lock(pthread_mutex_t* mutex);
}

namespace iw::test {
namespace {

constinit thread_local long locked_mutexes = 0;

constexpr long most_allocations = 1'000'000;

struct Cost {
  long mutexes = 0;
  long allocations = 0;
};

Cost cost_of_a_lock(IW_handle_t segment) {
  Scarcity counting(Whose::callers, Failing::once, most_allocations);
  const long before = locked_mutexes;
  EXPECT_EQ(IW_rl_acquire(segment), 0);
  EXPECT_EQ(IW_rl_release(segment), 0);
  const Cost cost{locked_mutexes - before, most_allocations - Scarcity::left()};
  (void)counting.stop();
  return cost;
}

TEST(ReadLockCost, ACachedReaderLockTakesNoMessageNoMemoryAndItsMutexTwice) {
  Server server;
  ASSERT_TRUE(server.good());
  IW_handle_t const segment = IW_open_segment(server.url("/cached").c_str());
  ASSERT_NE(segment, nullptr) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  ASSERT_NE(IW_malloc_array(segment, IW_int, 100, "numbers"), nullptr) << IW_strerror();
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  ASSERT_EQ(IW_set_coherence(segment, IW_TEMPORAL, 3600), 0) << IW_strerror();
  (void)cost_of_a_lock(segment);  // asks
  const std::uint64_t messages = stats_of(segment).messages_sent;

  std::vector<long> mutexes;
  std::vector<long> allocations;
  for (int i = 0; i < 1000; ++i) {
    const Cost cost = cost_of_a_lock(segment);
    mutexes.push_back(cost.mutexes);
    allocations.push_back(cost.allocations);
  }
  EXPECT_EQ(stats_of(segment).messages_sent, messages);
  // The median, because now and then one of them looks for stray stores [COPY-1].
  std::nth_element(mutexes.begin(), mutexes.begin() + 500, mutexes.end());
  std::nth_element(allocations.begin(), allocations.begin() + 500, allocations.end());
  EXPECT_EQ(mutexes[500], 2);
  EXPECT_EQ(allocations[500], 0);
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
}

}  // namespace

void count_locked_mutex() { ++locked_mutexes; }

}  // namespace iw::test

extern "C" {
int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  iw::test::count_locked_mutex();
  return __real_pthread_mutex_lock(mutex);
}
}
