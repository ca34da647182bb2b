// OpenMP inside of each process of a job: a team of threads uses the heap, takes locks and comes to
// barriers by one of its threads. Compiled with -fopenmp.
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "dsm/node/node_fixture.h"
#include "interweave/dsm.h"

namespace iw::dsm {
namespace {

constexpr int team = 4;

void done(int result, const char* call) {
  if (result != 0) std::fprintf(stderr, "%s: %s\n", call, dsm_strerror(result));
  check(result == 0, call);
}
#define DONE(call) done(call, #call)

dsm_statistics statistics() {
  dsm_statistics now{};
  DONE(dsm_stats(&now, 0));
  return now;
}

std::uint64_t* allocate(std::size_t words) {
  auto* const block = static_cast<std::uint64_t*>(dsm_malloc(words * sizeof(std::uint64_t)));
  check(block != nullptr, "there is room in the heap");
  return block;
}

// Threads that sleep at a barrier leave the processors to the other ranks.
Environment with_team(Environment environment) {
  environment["OMP_NUM_THREADS"] = std::to_string(team);
  environment["OMP_WAIT_POLICY"] = "passive";
  environment["OMP_DYNAMIC"] = "false";
  return environment;
}

// All threads look at the pages in one order, so that they fault on the same ones. `first` is the
// value of each word.
void load_all(const std::uint64_t* words, std::size_t count, std::uint64_t value) {
  std::atomic<std::uint64_t> torn{0};
#pragma omp parallel num_threads(team)
  {
    check(omp_get_num_threads() == team, "the team is whole");
    const volatile std::uint64_t* const loaded = words;
#pragma omp barrier
    for (std::size_t i = 0; i < count; i++) {
      if (loaded[i] != value) torn++;
    }
  }
  check(torn == 0, "each thread sees whole pages only", torn);
}

}  // namespace

// Rank 0 is the home and stores; the threads of the other ranks load what it stored.
ROLE(openmp_loads) {
  constexpr std::size_t pages = 24;
  constexpr std::uint64_t rounds = 20;
  const std::size_t page_bytes = number_of_environment("IW_DSM_PAGE", 4096);
  const bool is_direct = std::getenv("IW_DSM_DIRECT") == nullptr;
  DONE(dsm_init(nullptr));
  const std::size_t count = pages * page_bytes / sizeof(std::uint64_t);
  std::uint64_t* const words = allocate(count);
  DONE(dsm_home(words, pages * page_bytes, DSM_RANK, 0));
  for (std::uint64_t round = 1; round <= rounds; round++) {
    DONE(dsm_barrier(1));
    if (dsm_rank() == 0) std::fill_n(words, count, round);
    DONE(dsm_barrier(2));
    if (dsm_rank() == 0) continue;
    const dsm_statistics before = statistics();
    load_all(words, count, round);
    const dsm_statistics after = statistics();
    const std::uint64_t questions = after.messages - before.messages;
    const std::uint64_t reads = after.direct_pages - before.direct_pages;
    check((is_direct ? reads : questions) == pages, "each page is fetched once",
          is_direct ? reads : questions);
    check((is_direct ? questions : reads) == 0, "and in no other way");
  }
  DONE(dsm_barrier(3));
  return dsm_finish();
}

TEST(OpenMp, FaultsOfATeamOnOnePageAreOneFetchOfAWholePage) {
  for (const Environment& each : {Environment{},
                                  {{"IW_DSM_DIRECT", "no"}},
                                  {{"IW_DSM_DIRECT", "no"}, {"IW_DSM_FAULTS", "sigsegv"}},
                                  {{"IW_DSM_DIRECT", "no"}, {"IW_DSM_PAGE", "65536"}}}) {
    TestJob("openmp_loads", 2, with_team(each)).expect_success();
  }
}

// Each thread of each rank has words of its own on each page, and stores to them.
ROLE(openmp_stores) {
  constexpr std::size_t pages = 8;
  constexpr std::uint64_t rounds = 20;
  const std::size_t page_bytes = number_of_environment("IW_DSM_PAGE", 4096);
  DONE(dsm_init(nullptr));
  const std::size_t count = pages * page_bytes / sizeof(std::uint64_t);
  std::uint64_t* const words = allocate(count);
  const auto threads = static_cast<std::size_t>(team * dsm_size());
  DONE(dsm_barrier(1));
  for (std::uint64_t round = 1; round <= rounds; round++) {
#pragma omp parallel num_threads(team)
    {
      const auto mine = static_cast<std::size_t>(dsm_rank() * team + omp_get_thread_num());
      for (std::size_t i = mine; i < count; i += threads) words[i] += i % threads + round;
    }
    DONE(dsm_barrier(2));
    for (std::size_t i = 0; i < count; i++) {
      const std::uint64_t wanted = round * (i % threads) + round * (round + 1) / 2;
      check(words[i] == wanted, "no store of another thread is lost", words[i]);
    }
    DONE(dsm_barrier(3));
  }
  return dsm_finish();
}

TEST(OpenMp, StoresOfATeamAndOfOtherRanksIntoOnePageMerge) {
  for (const Environment& each : {Environment{},
                                  {{"IW_DSM_DIFFS", "orig"}, {"IW_DSM_FAULTS", "sigsegv"}},
                                  {{"IW_DSM_PULL", "yes"}, {"IW_DSM_DIRECT", "no"}}}) {
    TestJob("openmp_stores", 3, with_team(each)).expect_success();
  }
}

// A lock excludes threads as well as ranks.
ROLE(openmp_locks) {
  constexpr int adds = 50;
  constexpr std::uint64_t lock = 7;
  DONE(dsm_init(nullptr));
  std::uint64_t* const sum = allocate(1);
  std::uint64_t inside = 0;  // of this rank; plain, because the lock orders its threads
  DONE(dsm_barrier(1));
#pragma omp parallel num_threads(team)
  for (int i = 0; i < adds; i++) {
    DONE(dsm_lock(lock));
    inside++;
    check(inside == 1, "one thread is in the section", inside);
    *sum += 1;
    inside--;
    DONE(dsm_unlock(lock));
  }
  DONE(dsm_barrier(2));
  check(*sum == static_cast<std::uint64_t>(adds * team * dsm_size()), "each addition counts", *sum);
  DONE(dsm_barrier(3));
  return dsm_finish();
}

TEST(OpenMp, ALockExcludesTheThreadsOfATeam) {
  TestJob("openmp_locks", 3, with_team({})).expect_success();
}

// A relaxation by the loops of a team, with a barrier by its master.
ROLE(openmp_relaxation) {
  constexpr std::size_t side = 96, steps = 12;
  const auto start = [](std::size_t i) { return static_cast<double>(i * 2654435761u % 1000); };
  const auto relax = [](const double* from, double* to, std::size_t row) {
    for (std::size_t i = row * side + 1; i < (row + 1) * side - 1; i++) {
      to[i] = (from[i - side] + from[i + side] + from[i - 1] + from[i + 1]) / 4;
    }
  };
  DONE(dsm_init(nullptr));
  double* grids[2];
  for (double*& each : grids) {
    each = reinterpret_cast<double*>(allocate(side * side));
    for (std::size_t i = 0; i < side * side; i++) each[i] = start(i);
  }
  DONE(dsm_barrier(0));
  const auto rank = static_cast<std::size_t>(dsm_rank());
  const std::size_t rows = (side - 2) / static_cast<std::size_t>(dsm_size());
#pragma omp parallel num_threads(team)
  for (std::size_t step = 0; step < steps; step++) {
#pragma omp for schedule(dynamic, 1)
    for (std::size_t row = 1 + rank * rows; row < 1 + (rank + 1) * rows; row++) {
      relax(grids[step % 2], grids[(step + 1) % 2], row);
    }
#pragma omp master
    DONE(dsm_barrier(1 + step));
#pragma omp barrier
  }
  std::vector<double> alone[2];
  for (std::vector<double>& each : alone) {
    for (std::size_t i = 0; i < side * side; i++) each.push_back(start(i));
  }
  const std::size_t last = 1 + static_cast<std::size_t>(dsm_size()) * rows;
  for (std::size_t step = 0; step < steps; step++) {
    for (std::size_t row = 1; row < last; row++) {
      relax(alone[step % 2].data(), alone[(step + 1) % 2].data(), row);
    }
  }
  check(std::equal(alone[0].begin(), alone[0].end(), grids[0]), "the bits are those of one thread");
  check(std::equal(alone[1].begin(), alone[1].end(), grids[1]), "before the last step, too");
  DONE(dsm_barrier(999));
  return dsm_finish();
}

TEST(OpenMp, LoopsOfTeamsHaveTheBitsOfOneThread) {
  for (const Environment& each : {Environment{},
                                  {{"IW_DSM_PAGE", "65536"}},
                                  {{"IW_DSM_DIRECT", "no"}, {"IW_DSM_CACHE", "256K"}}}) {
    TestJob("openmp_relaxation", 2, with_team(each)).expect_success();
  }
}

// The other rank stays away until one thread was refused.
ROLE(openmp_two_at_a_barrier) {
  DONE(dsm_init(nullptr));
  DONE(dsm_barrier(0));
  if (dsm_rank() == 1) {
    parent.hear();
    DONE(dsm_barrier(1));
    return dsm_finish();
  }
  std::atomic<int> refused{0};
  std::atomic<int> passed{0};
#pragma omp parallel num_threads(2)
  {
    const int result = dsm_barrier(1);
    check(result == 0 || result == DSM_EMISMATCH, "a barrier is passed or refused");
    if (result == 0) {
      passed++;
    } else {
      refused++;
      parent.say("refused");
    }
  }
  check(refused == 1 && passed == 1, "one thread of a rank passes a barrier");
  return dsm_finish();
}

// [DSM-BARRIER-1]
TEST(OpenMp, TheSecondThreadOfATeamAtABarrierIsRefused) {
  TestJob job("openmp_two_at_a_barrier", 2, with_team({}));
  EXPECT_EQ(job.at(0).line().hear_text(), "refused");
  job.at(1).line().say("come");
  job.expect_success();
}

}  // namespace iw::dsm
