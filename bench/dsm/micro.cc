// What single operations of the page-based shared memory cost between two ranks. Rank 0 prints a
// line for each: its name and the median in microseconds. bench/dsm.py starts it.
//
// "sleeps" means that the other rank has waited so long that it sleeps. "computes" means that the
// other rank is outside of all calls.
#include <interweave/dsm.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Us = std::chrono::duration<double, std::micro>;

constexpr std::size_t kPageBytes = 4096;
// Fewer than those from which on a fault opens pages behind its own, too (docs/dsm.md).
constexpr std::size_t kPages = 8;
constexpr int kMissRounds = 300;
constexpr std::size_t kDirtyPages = 100;  // of each rank
constexpr int kRounds = 9;
constexpr Us kSleepsAfter{300}, kComputes{400};
enum : std::uint64_t { plain_barrier = 1, plain_lock = 1 };

int rank;

void must(int result, const char* call) {
  if (result >= 0) return;
  std::fprintf(stderr, "micro: rank %d: %s: %s\n", rank, call, dsm_strerror(result));
  std::exit(1);
}

void barrier() { must(dsm_barrier(plain_barrier), "dsm_barrier"); }

void compute(Us how_long) {
  for (const auto end = Clock::now() + how_long; Clock::now() < end;) {
  }
}

template <typename Work>
double us_of(Work work) {
  const auto begin = Clock::now();
  work();
  return Us(Clock::now() - begin).count();
}

void print(const char* name, std::vector<double> us) {
  if (rank != 0) return;
  const auto middle = us.begin() + static_cast<std::ptrdiff_t>(us.size() / 2);
  std::nth_element(us.begin(), middle, us.end());
  std::printf("%s: %.3f\n", name, *middle);
}

class Pages {
 public:
  // Page i has the home first_home or the other rank, by turns if `alternates`.
  Pages(std::size_t count, int first_home, bool alternates) : count_(count) {
    begin_ = static_cast<char*>(dsm_malloc(count * kPageBytes));
    if (begin_ == nullptr) must(dsm_errno(), "dsm_malloc");
    for (std::size_t i = 0; i < count; i++) {
      const int home = alternates && i % 2 == 1 ? 1 - first_home : first_home;
      must(dsm_home(begin_ + i * kPageBytes, kPageBytes, DSM_RANK, home), "dsm_home");
    }
  }
  void load(std::size_t page) const { (void)*word(page); }
  void store(std::size_t page, int value) const { *word(page) = value; }
  void load_all() const {
    for (std::size_t i = 0; i < count_; i++) load(i);
  }

 private:
  volatile int* word(std::size_t page) const {
    return reinterpret_cast<volatile int*>(begin_ + page * kPageBytes);
  }
  char* begin_;
  std::size_t count_;
};

// Rank 0 loads pages that their home has changed.
void measure_misses(const char* name, const Pages& pages, bool home_computes) {
  std::vector<std::size_t> order(kPages);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  std::vector<double> us;
  for (int round = 0; round < kMissRounds; round++) {
    if (rank == 1) {
      for (std::size_t i = 0; i < kPages; i++) pages.store(i, round);
    }
    barrier();
    if (rank == 0) {
      for (const std::size_t page : order) us.push_back(us_of([&] { pages.load(page); }));
    } else if (home_computes) {
      compute(kPages * Us(40));
    }
    barrier();
  }
  print(name, us);
}

void measure_barriers() {
  constexpr int times = 200;
  std::vector<double> polling, sleeping;
  for (int round = 0; round < kRounds * 5; round++) {
    polling.push_back(us_of([] {
                        for (int i = 0; i < times; i++) barrier();
                      }) /
                      times);
  }
  print("barrier, both poll", polling);
  // Rank 0 comes last.
  for (int i = 0; i < 300; i++) {
    if (rank == 0) compute(kSleepsAfter);
    sleeping.push_back(us_of(barrier));
    barrier();
  }
  print("barrier, the manager comes last, the other sleeps", sleeping);
  // Rank 1 comes last, and wakes the manager. Its times go to rank 0.
  for (double& each : sleeping) {
    if (rank == 1) compute(kSleepsAfter);
    each = us_of(barrier);
    must(dsm_broadcast(&each, sizeof each, 1), "dsm_broadcast");
  }
  print("barrier, the manager sleeps", sleeping);
}

// Each rank has stored to every other page, and then loads all.
void measure_dirty(const char* name, const Pages& pages, int mine) {
  std::vector<double> us;
  for (int round = 0; round < kRounds * 5; round++) {
    for (std::size_t i = 0; i < kDirtyPages; i++) {
      pages.store(2 * i + static_cast<std::size_t>(mine), round + 1);
    }
    barrier();
    pages.load_all();
    for (std::size_t i = 0; i < kDirtyPages; i++) {
      pages.store(2 * i + static_cast<std::size_t>(mine), -round - 1);
    }
    // The stores take unlike times.
    must(dsm_reduce(DSM_SUM, DSM_INT64, nullptr, nullptr, 0), "dsm_reduce");
    us.push_back(us_of(barrier) / kDirtyPages);
    pages.load_all();
  }
  print(name, us);
}

void lock_once() {
  must(dsm_lock(plain_lock), "dsm_lock");
  must(dsm_unlock(plain_lock), "dsm_unlock");
}

void measure_locks() {
  constexpr int times = 1000;
  std::vector<double> us;
  barrier();
  for (int round = 0; round < kRounds && rank == 0; round++) {
    lock_once();
    us.push_back(us_of([] {
                   for (int i = 0; i < times; i++) lock_once();
                 }) /
                 times);
  }
  print("lock that was here, and unlock", us);
  us.clear();
  // The rank that had it before waits in the barrier.
  for (int i = 0; i < 2 * times; i++) {
    if (rank == i % 2) {
      us.push_back(us_of([] { must(dsm_lock(plain_lock), "dsm_lock"); }));
      must(dsm_unlock(plain_lock), "dsm_unlock");
    }
    barrier();
  }
  print("lock passed, the owner waits in a call", us);
  us.clear();
  for (int i = 0; i < 300; i++) {
    if (rank == 1) lock_once();
    barrier();
    if (rank == 1) {
      compute(kComputes);
    } else {
      compute(kComputes / 4);
      us.push_back(us_of([] { must(dsm_lock(plain_lock), "dsm_lock"); }));
      must(dsm_unlock(plain_lock), "dsm_unlock");
    }
    barrier();
  }
  print("lock passed, the owner computes", us);
}

}  // namespace

int main() {
  must(dsm_init(nullptr), "dsm_init");
  rank = dsm_rank();
  if (dsm_size() != 2) {
    std::fprintf(stderr, "micro: start two ranks\n");
    return 2;
  }
  const Pages missed(kPages, 1, false);
  const Pages shared(2 * kDirtyPages, 0, true);
  barrier();
  measure_misses("page miss, the home waits in a call", missed, false);
  measure_misses("page miss, the home computes", missed, true);
  measure_barriers();
  measure_dirty("barrier, a dirty page, each at its writer", shared, rank);
  measure_dirty("barrier, a dirty page, each away from its writer", shared, 1 - rank);
  measure_locks();
  must(dsm_finish(), "dsm_finish");
  return 0;
}
