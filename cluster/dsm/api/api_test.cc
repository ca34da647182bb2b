// The calls of <interweave/dsm.h> as programs make them, in real processes.
#include <fcntl.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <thread>

#include "dsm/node/node_fixture.h"
#include "interweave/dsm.h"

namespace iw::dsm {
namespace {

void expect(int result, int wanted, const char* call) {
  if (result == wanted) return;
  std::fprintf(stderr, "rank %d: %s: %d, not %d (%s)\n", dsm_rank(), call, result, wanted,
               dsm_strerror(result));
  std::_Exit(1);
}
#define EXPECT_RESULT(wanted, call) expect(call, wanted, #call)
#define EXPECT_DONE(call) expect(call, 0, #call)

template <typename T>
T* allocate(std::size_t count) {
  auto* const block = static_cast<T*>(dsm_malloc(count * sizeof(T)));
  check(block != nullptr, "there is room in the heap");
  return block;
}

struct Words {
  std::int64_t sum;
  std::int64_t queue[4];
  std::int64_t put, taken;
};

void run_job(const char* role, Rank ranks, const Environment& environment = {}) {
  TestJob job(role, ranks, environment);
  job.expect_success();
}

// Nothing was said by dsm_init: the first dsm_malloc starts the rank.
ROLE(api_counts) {
  auto* const words = allocate<Words>(1);
  words->sum = 100;
  EXPECT_DONE(dsm_barrier(1));
  for (int i = 0; i < 50; i++) {
    EXPECT_DONE(dsm_lock(7));
    words->sum++;
    EXPECT_DONE(dsm_unlock(7));
  }
  EXPECT_DONE(dsm_barrier(2));
  check(words->sum == 100 + 50 * dsm_size(), "each addition under the lock counts",
        static_cast<std::uint64_t>(words->sum));
  EXPECT_DONE(dsm_finish());
  EXPECT_RESULT(DSM_ENOTINIT, dsm_lock(7));
  EXPECT_RESULT(DSM_ENOTINIT, dsm_init(nullptr));
  return 0;
}

TEST(DsmApi, ProcessesCountUnderALockWithEachSizeOfPageAndWayOfDiffsAndFaults) {
  for (const char* page : {"4096", "8192", "64K"}) {
    run_job("api_counts", 3, {{"IW_DSM_PAGE", page}});
  }
  for (const char* fabric : testing::transports({"shm", "tcp"})) {
    run_job("api_counts", 2, {{"IW_FABRIC", fabric}, {"IW_DSM_DIFFS", "orig"}});
  }
  run_job("api_counts", 2, {{"IW_DSM_FAULTS", "sigsegv"}});
  run_job("api_counts", 1);
}

// All stores before the first barrier but rank 0's are dropped; addresses are the same.
ROLE(api_replay) {
  EXPECT_DONE(dsm_init(nullptr));
  auto* const values = allocate<std::int64_t>(1000);
  for (int i = 0; i < 1000; i++) values[i] = dsm_rank() == 0 ? i : -1;
  EXPECT_DONE(dsm_lock(1));
  EXPECT_RESULT(DSM_EHELD, dsm_lock(1));
  EXPECT_DONE(dsm_unlock(1));
  EXPECT_RESULT(DSM_ENOTHELD, dsm_unlock(1));
  EXPECT_RESULT(DSM_EEARLY, dsm_cond_wait(1, 1));
  EXPECT_RESULT(DSM_EEARLY, dsm_sem_wait(1));
  std::int64_t before = -1;
  EXPECT_DONE(dsm_fetch_add(5, 40, &before));
  check(before == 0, "a counter begins with 0");
  for (int i = 0; i < 2; i++) EXPECT_DONE(dsm_sem_post(6));
  EXPECT_DONE(dsm_home(values, 1000 * sizeof *values, DSM_RANK, dsm_size() - 1));
  EXPECT_RESULT(DSM_EARGUMENT, dsm_home(values, 8, DSM_RANK, dsm_size()));
  EXPECT_DONE(dsm_barrier(9));

  for (int i = 0; i < 1000; i++) check(values[i] == i, "rank 0's stores are there");
  EXPECT_RESULT(DSM_ELATE, dsm_home(values, 8, DSM_BLOCKS, 0));
  auto own = reinterpret_cast<std::int64_t>(values);
  std::array<std::int64_t, 2> least_and_most{};
  EXPECT_DONE(dsm_reduce(DSM_MIN, DSM_INT64, &own, &least_and_most[0], 1));
  EXPECT_DONE(dsm_reduce(DSM_MAX, DSM_INT64, &own, &least_and_most[1], 1));
  check(least_and_most[0] == least_and_most[1], "all ranks have the same address");
  EXPECT_DONE(dsm_fetch_add(5, 1, &before));
  check(before >= 40 && before < 40 + dsm_size(), "the counter has the replay's value once");
  if (dsm_rank() < 2) EXPECT_DONE(dsm_sem_wait(6));
  EXPECT_DONE(dsm_finish());
  return 0;
}

// [DSM-START-2]
TEST(DsmApi, AllRanksBeginWithTheStoresOfRank0AndTheSameAddresses) { run_job("api_replay", 3); }

// Of this process, from here on.
class Complaints {
 public:
  Complaints() : file_(std::tmpfile()) { dup2(fileno(file_), STDERR_FILENO); }
  std::string text() const {
    std::string text(1 << 16, '\0');
    text.resize(static_cast<std::size_t>(
        std::max<ssize_t>(0, pread(fileno(file_), text.data(), text.size(), 0))));
    return text;
  }

 private:
  std::FILE* const file_;
};

// Pointers that ranks store: to a global, a stack, memory of malloc, the heap; and numbers.
ROLE(api_strays) {
  struct Cell {
    const void* pointer;
    std::int64_t number;
  };
  static int global = 0;
  int on_stack = 0;
  const Complaints complaints;
  auto* const cells = allocate<Cell>(10 * 4096 / sizeof(Cell));
  if (dsm_rank() == 0) cells[0] = {&global, 12345};
  EXPECT_DONE(dsm_barrier(1));
  const auto allocated = std::make_unique<int>(1);
  Cell* const own = cells + 2 * 4096 / sizeof(Cell);
  if (dsm_rank() == 1) {
    own[0] = {&on_stack, -1};
    own[1] = {allocated.get(), std::int64_t{1} << 40};
    own[2] = {&cells[5], 99};
  }
  EXPECT_DONE(dsm_barrier(2));
  // Words of rank 1 in the page are not this rank's.
  if (dsm_rank() == 0) own[3].number = 1;
  EXPECT_DONE(dsm_barrier(3));
  const std::string text = complaints.text();
  std::vector<std::string> wanted = {"globals or constants of "};
  if (dsm_rank() == 1) wanted = {"the stack of the first thread", "memory of malloc"};
  for (const std::string& each : wanted) {
    if (text.find(each) == std::string::npos) return 2;
  }
  const auto told = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  if (told != wanted.size()) return 3;
  EXPECT_DONE(dsm_finish());
  return 0;
}

TEST(DsmApi, ADebugModeTellsPointersOutOfTheHeap) {
  for (const char* faults : {"best", "sigsegv"}) {
    run_job("api_strays", 2, {{"IW_DSM_CHECK", "yes"}, {"IW_DSM_FAULTS", faults}});
  }
}

ROLE(api_unwritable_trace) {
  const int result = dsm_init(nullptr);
  check(result == DSM_EFAILED, "a trace that cannot be written is told");
  check(std::strstr(dsm_strerror(result), "IW_DSM_TRACE") != nullptr, "the error names it");
  return 0;
}

TEST(DsmApi, ATraceThatCannotBeWrittenIsTold) {
  run_job("api_unwritable_trace", 1, {{"IW_DSM_TRACE", "/proc/nowhere/trace"}});
}

ROLE(api_other_calls) {
  allocate<char>(dsm_rank() == 2 ? 200 : 100);
  const int result = dsm_barrier(1);
  // Rank 0 finds it. Another rank may hear first that one which was told already has ended.
  if (dsm_rank() != 0 && result == DSM_EDEAD) return 0;
  expect(result, DSM_EREPLAY, "dsm_barrier");
  check(std::strstr(dsm_strerror(result), "rank 2") != nullptr, "the error names the rank");
  EXPECT_RESULT(DSM_EREPLAY, dsm_lock(1));
  EXPECT_RESULT(DSM_EREPLAY, dsm_finish());
  return 0;
}

TEST(DsmApi, ARankThatMadeOtherCallsBeforeTheFirstBarrierIsNamed) { run_job("api_other_calls", 3); }

// Without a barrier the end is the first one.
ROLE(api_no_barrier) {
  auto* const words = allocate<Words>(1);
  words->sum = dsm_rank();
  EXPECT_DONE(dsm_finish());
  return 0;
}

ROLE(api_barrier_at_others) {
  allocate<Words>(1);
  EXPECT_RESULT(DSM_EREPLAY, dsm_rank() == 1 ? dsm_finish() : dsm_barrier(1));
  return 0;
}

TEST(DsmApi, AJobWithoutABarrierEndsAndOneWhoseRanksDifferInThisIsTold) {
  run_job("api_no_barrier", 3);
  run_job("api_barrier_at_others", 2);
}

// A ring of four places, by condition variables.
ROLE(api_conditions) {
  constexpr std::int64_t count = 200;
  constexpr std::uint64_t lock = 1, not_full = 1, not_empty = 2;
  auto* const words = allocate<Words>(1);
  EXPECT_DONE(dsm_barrier(1));
  EXPECT_RESULT(DSM_ENOTHELD, dsm_cond_wait(not_full, lock));
  if (dsm_rank() == 0) {
    for (std::int64_t i = 0; i < count * (dsm_size() - 1); i++) {
      EXPECT_DONE(dsm_lock(lock));
      while (words->put - words->taken == 4) EXPECT_DONE(dsm_cond_wait(not_full, lock));
      words->queue[words->put++ % 4] = i;
      EXPECT_DONE(dsm_cond_signal(not_empty));
      EXPECT_DONE(dsm_unlock(lock));
    }
  } else {
    for (std::int64_t i = 0; i < count; i++) {
      EXPECT_DONE(dsm_lock(lock));
      while (words->put == words->taken) EXPECT_DONE(dsm_cond_wait(not_empty, lock));
      words->sum += words->queue[words->taken++ % 4];
      EXPECT_DONE(dsm_cond_broadcast(not_full));
      EXPECT_DONE(dsm_unlock(lock));
    }
  }
  EXPECT_DONE(dsm_barrier(2));
  const std::int64_t all = count * (dsm_size() - 1);
  check(words->sum == all * (all - 1) / 2, "each thing was taken once",
        static_cast<std::uint64_t>(words->sum));
  EXPECT_DONE(dsm_finish());
  return 0;
}

TEST(DsmApi, ConditionVariablesPassThingsThroughARing) {
  run_job("api_conditions", 2);
  run_job("api_conditions", 3);
}

// A store before a post is seen behind the wait: a token goes round.
ROLE(api_semaphores) {
  auto* const words = allocate<std::int64_t>(1);
  EXPECT_DONE(dsm_barrier(1));
  const auto me = static_cast<std::uint64_t>(dsm_rank());
  const auto next = static_cast<std::uint64_t>((dsm_rank() + 1) % dsm_size());
  if (me == 0) EXPECT_DONE(dsm_sem_post(0));
  for (std::int64_t round = 0; round < 100; round++) {
    EXPECT_DONE(dsm_sem_wait(me));
    check(*words == round * dsm_size() + dsm_rank(), "the last store of the rank before is seen",
          static_cast<std::uint64_t>(*words));
    ++*words;
    EXPECT_DONE(dsm_sem_post(next));
  }
  EXPECT_DONE(dsm_finish());
  return 0;
}

// [DSM-SEM-2]
TEST(DsmApi, SemaphoresOrderStores) { run_job("api_semaphores", 3); }

ROLE(api_rounds) {
  constexpr std::size_t count = 20'000;  // more than one round of messages
  EXPECT_RESULT(DSM_EEARLY, dsm_broadcast(nullptr, 0, 0));
  auto* const shared = allocate<double>(count);
  EXPECT_DONE(dsm_barrier(1));
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; i++) values[i] = std::ldexp(1.0 + dsm_rank(), dsm_rank() * 30);
  double expected = 1;
  for (int rank = 1; rank < dsm_size(); rank++) expected += std::ldexp(1.0 + rank, rank * 30);
  EXPECT_DONE(dsm_reduce(DSM_SUM, DSM_DOUBLE, values.data(), values.data(), count));
  for (const double each : values) check(each == expected, "the sum is in the order of ranks");
  EXPECT_DONE(dsm_reduce(DSM_SUM, DSM_DOUBLE, values.data(), values.data(), 0));
  // From and into the heap.
  if (dsm_rank() == 1) std::fill_n(shared, count, 2.5);
  EXPECT_DONE(dsm_barrier(2));
  EXPECT_DONE(dsm_reduce(DSM_MAX, DSM_DOUBLE, shared, values.data(), count));
  check(values[count - 1] == 2.5, "values may lie in the heap");
  std::string text = dsm_rank() == 2 ? std::string(100'000, 'x') : std::string(100'000, ' ');
  EXPECT_DONE(dsm_broadcast(text.data(), text.size(), 2));
  check(text == std::string(100'000, 'x'), "all have the bytes of rank 2");
  EXPECT_RESULT(DSM_EARGUMENT, dsm_broadcast(text.data(), 1, 3));
  EXPECT_RESULT(DSM_EARGUMENT, dsm_reduce(DSM_SUM, DSM_INT64, nullptr, nullptr, 1));
  EXPECT_DONE(dsm_finish());
  return 0;
}

TEST(DsmApi, ReductionsAndBroadcastsGiveAllRanksTheSame) { run_job("api_rounds", 3); }

ROLE(api_other_round) {
  EXPECT_DONE(dsm_barrier(1));
  double value = 1;
  const dsm_reduction reduction = dsm_rank() == 1 ? DSM_MAX : DSM_SUM;
  EXPECT_RESULT(DSM_EMISMATCH, dsm_reduce(reduction, DSM_DOUBLE, &value, &value, 1));
  check(dsm_dead_rank() == 1, "the rank is named");
  EXPECT_RESULT(DSM_EMISMATCH, dsm_lock(1));
  return 0;
}

// [DSM-ROUND-2]
TEST(DsmApi, ARankInAnotherReductionEndsTheJob) { run_job("api_other_round", 3); }

// Each rank allocates by itself, others use and free the blocks.
ROLE(api_blocks) {
  struct Node {
    Node* next;
    std::int64_t value;
  };
  auto** const list = allocate<Node*>(1);
  EXPECT_DONE(dsm_barrier(1));
  for (int i = 0; i < 100; i++) {
    auto* const node = allocate<Node>(1);
    EXPECT_DONE(dsm_lock(1));
    *node = {*list, i};
    *list = node;
    EXPECT_DONE(dsm_unlock(1));
  }
  EXPECT_DONE(dsm_barrier(2));
  std::int64_t sum = 0, freed = 0;
  for (const Node* node = *list; node != nullptr; node = node->next) sum += node->value;
  check(sum == dsm_size() * 4950, "all blocks are seen by all", static_cast<std::uint64_t>(sum));
  EXPECT_DONE(dsm_barrier(3));
  for (EXPECT_DONE(dsm_lock(1)); *list != nullptr; freed++) {
    Node* const first = *list;
    *list = first->next;
    dsm_free(first);
    EXPECT_DONE(dsm_unlock(1));
    EXPECT_DONE(dsm_lock(1));
  }
  EXPECT_DONE(dsm_unlock(1));
  EXPECT_DONE(dsm_reduce(DSM_SUM, DSM_INT64, &freed, &freed, 1));
  check(freed == 100 * dsm_size(), "each block is freed once");
  void* const block = dsm_malloc(10);
  dsm_free(block);
  dsm_free(block);
  EXPECT_RESULT(DSM_EFREED, dsm_errno());
  dsm_free(&sum);
  EXPECT_RESULT(DSM_EFOREIGN, dsm_errno());
  check(dsm_malloc(std::size_t{1} << 60) == nullptr, "the heap has no room for 2^60 bytes");
  EXPECT_RESULT(DSM_EMEMORY, dsm_errno());
  EXPECT_DONE(dsm_finish());
  return 0;
}

TEST(DsmApi, BlocksOfOneRankAreUsedAndFreedByOthers) { run_job("api_blocks", 3); }

// Threads of a process exclude each other, too.
ROLE(api_threads) {
  auto* const words = allocate<Words>(1);
  EXPECT_DONE(dsm_barrier(1));
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++) {
    threads.emplace_back([words, t] {
      for (int i = 0; i < 30; i++) {
        EXPECT_DONE(dsm_lock(1));
        words->sum++;
        words->queue[t]++;
        EXPECT_DONE(dsm_unlock(1));
        EXPECT_DONE(dsm_sem_post(1));
        EXPECT_DONE(dsm_sem_wait(1));
        EXPECT_DONE(dsm_fetch_add(3, 1, nullptr));
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_DONE(dsm_barrier(2));
  std::int64_t counted = 0;
  EXPECT_DONE(dsm_fetch_add(3, 0, &counted));
  check(words->sum == 90 * dsm_size() && counted == words->sum, "each addition counts",
        static_cast<std::uint64_t>(words->sum));
  EXPECT_DONE(dsm_finish());
  return 0;
}

TEST(DsmApi, ThreadsOfAProcessTakeTurns) { run_job("api_threads", 2); }

ROLE(api_lock_errors) {
  auto* const word = allocate<std::int64_t>(1);
  EXPECT_DONE(dsm_barrier(1));
  EXPECT_RESULT(DSM_ENOTHELD, dsm_unlock(1));
  EXPECT_RESULT(DSM_ENOTHELD, dsm_errno());
  if (dsm_rank() == 0) {
    EXPECT_DONE(dsm_lock(1));
    EXPECT_RESULT(DSM_EHELD, dsm_lock(1));
  }
  EXPECT_DONE(dsm_barrier(2));
  if (dsm_rank() == 1) EXPECT_RESULT(DSM_EBUSY, dsm_try_lock(1));
  EXPECT_DONE(dsm_barrier(3));
  if (dsm_rank() == 0) EXPECT_DONE(dsm_unlock(1));
  EXPECT_DONE(dsm_barrier(4));
  if (dsm_rank() == 1) {
    EXPECT_DONE(dsm_try_lock(1));
    EXPECT_DONE(dsm_unlock(1));
  }
  EXPECT_DONE(dsm_touch(word, sizeof *word, 1));
  EXPECT_RESULT(DSM_EARGUMENT, dsm_touch(&word, sizeof word, 0));
  EXPECT_RESULT(DSM_EARGUMENT, dsm_stats(nullptr, 0));
  dsm_statistics statistics;
  // A program of an older header has a shorter record, one of a newer header a longer one.
  std::memset(&statistics, 0xff, sizeof statistics);
  EXPECT_DONE(dsm_stats_sized(&statistics, offsetof(dsm_statistics, locks_known), 0));
  check(statistics.barriers == 4, "barriers are counted", statistics.barriers);
  check(statistics.locks_known == UINT64_MAX, "no byte is written behind the record");
  struct {
    dsm_statistics known;
    uint64_t unknown = 1;
  } newer;
  EXPECT_DONE(dsm_stats_sized(&newer.known, sizeof newer, 0));
  check(newer.known.barriers == 4 && newer.unknown == 0, "unknown counts are 0");
  EXPECT_DONE(dsm_stats(&statistics, 1));
  check(statistics.barriers == 4, "barriers are counted", statistics.barriers);
  check(statistics.messages > 0, "messages are counted");
  EXPECT_DONE(dsm_stats(&statistics, 0));
  check(statistics.barriers == 0, "the counts begin at 0 again");
  EXPECT_DONE(dsm_finish());
  return 0;
}

TEST(DsmApi, WrongCallsOfLocksAreToldAndStatisticsCount) { run_job("api_lock_errors", 2); }

// Between two barriers in which nobody stores, a rank sends one message, and rank 0 one to each.
ROLE(api_costs) {
  auto* const words = allocate<std::int64_t>(4096);
  EXPECT_DONE(dsm_barrier(1));
  if (dsm_rank() == 1) words[0] = 1;
  EXPECT_DONE(dsm_barrier(2));
  check(words[0] == 1, "the store is seen");
  EXPECT_DONE(dsm_lock(static_cast<std::uint64_t>(dsm_rank())));
  EXPECT_DONE(dsm_unlock(static_cast<std::uint64_t>(dsm_rank())));
  EXPECT_DONE(dsm_barrier(3));
  dsm_statistics statistics;
  EXPECT_DONE(dsm_stats(&statistics, 1));
  for (int i = 0; i < 1000; i++) {
    EXPECT_DONE(dsm_lock(static_cast<std::uint64_t>(dsm_rank())));
    EXPECT_DONE(dsm_unlock(static_cast<std::uint64_t>(dsm_rank())));
  }
  EXPECT_DONE(dsm_stats(&statistics, 1));
  check(statistics.messages == 0 && statistics.lock_waits == 0, "a lock that is here costs nothing",
        statistics.messages);
  EXPECT_DONE(dsm_barrier(4));
  EXPECT_DONE(dsm_barrier(5));
  EXPECT_DONE(dsm_stats(&statistics, 0));
  EXPECT_DONE(dsm_finish());
  return 0;
}

TEST(DsmApi, ALockThatComesBackToItsLastOwnerCostsNoMessage) { run_job("api_costs", 3); }

// Rank 1 changes some bytes in each of many pages that live at rank 0.
ROLE(api_diffs) {
  constexpr std::size_t pages = 60, page_bytes = 4096, changed = 40;
  auto* const bytes = allocate<unsigned char>(pages * page_bytes);
  EXPECT_DONE(dsm_home(bytes, pages * page_bytes, DSM_RANK, 0));
  EXPECT_DONE(dsm_barrier(1));
  dsm_statistics statistics;
  EXPECT_DONE(dsm_stats(&statistics, 1));
  for (std::size_t page = 0; page < pages && dsm_rank() == 1; page++) {
    for (std::size_t i = 0; i < changed; i++) {
      bytes[page * page_bytes + 90 * i] = static_cast<unsigned char>(1 + page + i);
    }
  }
  EXPECT_DONE(dsm_barrier(2));
  EXPECT_DONE(dsm_stats(&statistics, 0));
  EXPECT_DONE(dsm_barrier(3));
  for (std::size_t page = 0; page < pages; page++) {
    for (std::size_t i = 0; i < page_bytes; i++) {
      const bool is_changed = i % 90 == 0 && i / 90 < changed;
      const auto wanted = static_cast<unsigned char>(is_changed ? 1 + page + i / 90 : 0);
      check(bytes[page * page_bytes + i] == wanted, "each byte is what rank 1 stored", i);
    }
  }
  const bool is_orig = std::strcmp(std::getenv("IW_DSM_DIFFS"), "orig") == 0;
  if (dsm_rank() == 1) {
    check(statistics.diffs == pages, "each page has one diff", statistics.diffs);
    check(statistics.twins == pages, "each page had a twin", statistics.twins);
    check(statistics.intervals == 1, "the stores are one interval", statistics.intervals);
    check(statistics.diff_bytes == pages * changed * 5, "a run has 4 bytes and what was changed",
          statistics.diff_bytes);
    check(is_orig == (statistics.diff_messages == pages), "PIPE packs, and ORIG does not",
          statistics.diff_messages);
  } else {
    check(statistics.diffs == 0 && statistics.twins == 0, "a home makes no diffs");
  }
  // The last acknowledgements are on their way.
  do {
    EXPECT_DONE(dsm_stats(&statistics, 0));
  } while (statistics.diff_memory != 0);
  EXPECT_DONE(dsm_finish());
  return 0;
}

TEST(DsmApi, PipePacksTheDiffsThatOrigSendsOneByOneAndTheBytesAreTheSame) {
  for (const char* depth : {"1", "2", "8"}) {
    for (const char* buffer : {"4K", "32K", "256K"}) {
      run_job("api_diffs", 2,
              {{"IW_DSM_DIFFS", "pipe"}, {"IW_DSM_DEPTH", depth}, {"IW_DSM_BUFFER", buffer}});
    }
    run_job("api_diffs", 2, {{"IW_DSM_DIFFS", "orig"}, {"IW_DSM_DEPTH", depth}});
  }
}

void print_to_file_of_rank() {
  const std::string file = std::string(std::getenv("IW_TEST_FILE")) + std::getenv("IW_RANK");
  const int out = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  check(out >= 0 && dup2(out, STDOUT_FILENO) == STDOUT_FILENO, "the file is there");
}

// Output before the first barrier is rank 0's, also what was in the buffer at dsm_init.
ROLE(api_prints) {
  print_to_file_of_rank();
  std::printf("first\n");
  EXPECT_DONE(dsm_init(nullptr));
  std::printf("second\n");
  EXPECT_DONE(dsm_barrier(1));
  std::printf("third\n");
  std::fflush(stdout);
  EXPECT_DONE(dsm_finish());
  return 0;
}

// As above, by a stream with a buffer of its own.
ROLE(api_streams) {
  print_to_file_of_rank();
  std::ios::sync_with_stdio(false);
  std::cout << "first\n";
  EXPECT_DONE(dsm_init(nullptr));
  std::cout << "second\n";
  EXPECT_DONE(dsm_barrier(1));
  std::cout << "third\n" << std::flush;
  EXPECT_DONE(dsm_finish());
  return 0;
}

void expect_once(const char* role) {
  char folder[] = "/tmp/iw-dsm-prints-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  run_job(role, 2, {{"IW_TEST_FILE", std::string(folder) + "/"}});
  const auto text_of = [&](int rank) {
    std::ostringstream text;
    text << std::ifstream(folder + ("/" + std::to_string(rank))).rdbuf();
    return text.str();
  };
  EXPECT_EQ(text_of(0), "first\nsecond\nthird\n");
  EXPECT_EQ(text_of(1), "third\n");
  std::filesystem::remove_all(folder);
}

TEST(DsmApi, WhatIsPrintedBeforeTheFirstBarrierAppearsOnce) {
  for (const char* role : {"api_prints", "api_streams"}) expect_once(role);
}

// Rank 1 is killed. The others wait for a lock that it has, and for a page of which it is the home.
ROLE(api_survives) {
  auto* const words = allocate<std::int64_t>(3 * 65536 / sizeof(std::int64_t));
  EXPECT_DONE(dsm_home(words, 3 * 65536, DSM_RANK, 1));
  EXPECT_DONE(dsm_barrier(1));
  if (dsm_rank() == 1) {
    EXPECT_DONE(dsm_lock(1));
    words[0] = 1;
  }
  EXPECT_DONE(dsm_barrier(2));
  parent.say("ready");
  if (dsm_rank() == 1) {
    for (;;) pause();
  }
  if (dsm_rank() == 0) {
    EXPECT_RESULT(DSM_EDEAD, dsm_lock(1));
    check(dsm_dead_rank() == 1, "the dead rank is named");
    EXPECT_RESULT(DSM_EDEAD, dsm_barrier(3));
    return 0;
  }
  EXPECT_RESULT(DSM_EDEAD, dsm_barrier(3));
  static constexpr int handled = 44;
  EXPECT_DONE(
      dsm_on_failure([](int rank, void*) { std::_Exit(rank == 1 ? handled : 1); }, nullptr));
  return static_cast<int>(words[2 * 65536 / sizeof(std::int64_t)]);
}

TEST(DsmApi, ADeathIsToldToCallsAndToTheHandlerOfAFault) {
  TestJob job("api_survives", 3);
  for (Rank rank = 0; rank < 3; rank++) EXPECT_EQ(job.at(rank).line().hear_text(), "ready");
  job.at(1).kill();
  EXPECT_EQ(job.at(0).wait_for_end(), 0);
  EXPECT_EQ(job.at(2).wait_for_end(), 44);
}

ROLE(api_finishes_early) {
  EXPECT_DONE(dsm_barrier(1));
  const int early = std::atoi(std::getenv("IW_TEST_EARLY"));
  EXPECT_RESULT(DSM_EMISMATCH, dsm_rank() == early ? dsm_finish() : dsm_barrier(2));
  check(dsm_dead_rank() == early, "the rank is named");
  EXPECT_RESULT(DSM_EMISMATCH, dsm_lock(1));
  parent.say("heard");
  EXPECT_EQ(parent.hear_text(), "end");
  return 0;
}

// [DSM-BARRIER-4] No rank ends before all have heard, because its end would be told as well.
TEST(DsmApi, ARankThatFinishesWhileOthersAreAtABarrierIsNamed) {
  for (const char* early : {"0", "2"}) {
    TestJob job("api_finishes_early", 3, {{"IW_TEST_EARLY", early}});
    for (Rank rank = 0; rank < 3; rank++) EXPECT_EQ(job.at(rank).line().hear_text(), "heard");
    for (Rank rank = 0; rank < 3; rank++) job.at(rank).line().say("end");
    job.expect_success();
  }
}

// A thread of each rank waits for ever, or has not begun to when the job is over.
ROLE(api_finishes_under_a_wait) {
  EXPECT_DONE(dsm_barrier(1));
  std::thread waiting([] { EXPECT_RESULT(DSM_ENOTINIT, dsm_sem_wait(1)); });
  EXPECT_DONE(dsm_finish());
  waiting.join();
  EXPECT_RESULT(DSM_ENOTINIT, dsm_rank());
  return 0;
}

TEST(DsmApi, TheEndOfTheJobEndsTheWaitsOfOtherThreads) { run_job("api_finishes_under_a_wait", 3); }

ROLE(api_forks) {
  auto* const word = allocate<std::int64_t>(1);
  EXPECT_DONE(dsm_barrier(1));
  const pid_t child = fork();
  if (child == 0) {
    EXPECT_RESULT(DSM_ENOTINIT, dsm_rank());
    EXPECT_RESULT(DSM_ENOTINIT, dsm_lock(1));
    EXPECT_RESULT(DSM_ENOTINIT, dsm_barrier(2));
    EXPECT_RESULT(DSM_ENOTINIT, dsm_finish());
    // Not by exit: a leak sanitizer does not see all memory of the parent from here.
    std::_Exit(0);
  }
  int status = -1;
  check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the child is refused");
  EXPECT_DONE(dsm_lock(1));
  ++*word;
  EXPECT_DONE(dsm_unlock(1));
  EXPECT_DONE(dsm_barrier(2));
  check(*word == dsm_size(), "the parent continues");
  EXPECT_DONE(dsm_finish());
  return 0;
}

TEST(DsmApi, AChildOfForkHasNoPartInTheJob) { run_job("api_forks", 2); }

ROLE(api_waits_alone) {
  setenv("IW_SIZE", "2", 1);
  dsm_options options{};
  options.timeout_ms = 1;
  EXPECT_RESULT(DSM_ETIMEDOUT, dsm_init(&options));
  return 0;
}

TEST(DsmApi, RanksThatDoNotStartInTimeAreTold) { run_job("api_waits_alone", 1); }

ROLE(api_many_locks) {
  constexpr std::size_t locks = 10000, bytes_most = 512;
  EXPECT_DONE(dsm_barrier(1));
  const std::size_t before = mallinfo2().uordblks;
  for (std::size_t lock = 0; lock < locks; lock++) {
    EXPECT_DONE(dsm_lock(lock));
    EXPECT_DONE(dsm_unlock(lock));
  }
  const std::size_t each = (mallinfo2().uordblks - before) / locks;
  check(each <= bytes_most, "a lock that nobody waits for takes little memory", each);
  EXPECT_DONE(dsm_finish());
  return 0;
}

TEST(DsmApi, ManyNumbersOfLocksTakeLittleMemory) { run_job("api_many_locks", 1); }

TEST(DsmApi, OptionsThatMakeNoSenseAreRefused) {
  dsm_options options{};
  options.page_bytes = 5000;
  EXPECT_EQ(dsm_init(&options), DSM_EARGUMENT);
  EXPECT_NE(std::strstr(dsm_strerror(DSM_EARGUMENT), "page_bytes"), nullptr);
  options = {};
  options.buffer_depth = 1000;
  EXPECT_EQ(dsm_init(&options), DSM_EARGUMENT);
  EXPECT_EQ(dsm_dead_rank(), -1);
  EXPECT_STREQ(dsm_strerror(DSM_EBUSY), "another thread or rank has the lock");
}

}  // namespace
}  // namespace iw::dsm
