// A fault takes no memory from malloc or operator new, because the instruction that faults may be
// one of the allocator itself. The program counts what its threads ask for in scopes of Counting.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

#include "dsm/node/node_fixture.h"

extern "C" void* __libc_malloc(std::size_t bytes);
extern "C" void __libc_free(void* memory);

namespace {

// Volatile: the compiler knows what malloc does, and would leave out what it does not do here.
thread_local constinit volatile bool is_counting = false;
thread_local constinit volatile std::uint64_t mallocs = 0, news = 0;

}  // namespace

extern "C" void* malloc(std::size_t bytes) {
  if (is_counting) mallocs = mallocs + 1;
  return __libc_malloc(bytes);
}

void* operator new(std::size_t bytes) {
  if (is_counting) news = news + 1;
  void* const memory = __libc_malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// Not std::free, of which the compiler believes that it frees nothing of operator new.
void operator delete(void* memory) noexcept { __libc_free(memory); }
void operator delete(void* memory, std::size_t) noexcept { __libc_free(memory); }

namespace iw::dsm {
namespace {

constexpr PageNumber many_pages = 700;

class Counting {
 public:
  Counting() { is_counting = true; }
  ~Counting() { is_counting = false; }
};

}  // namespace

// Waits until the homes have taken the diffs of earlier stores.
void wait_for_diffs(Member& at) {
  const Result result = at.node->wait([&] { return at.node->stats().mail.waiting_bytes == 0; });
  check(result.is_ok(), "the diffs are taken");
}

void store_all(Member& at, std::uint64_t round) {
  for (PageNumber page = 0; page < many_pages; page++) {
    (void)at.words[page * at.page_words];
    at.words[page * at.page_words + at.me()] = round;
  }
}

// Rank 1 counts while rank 0 waits at a barrier and sends nothing but answers: messages about other
// things may take memory. Half of the pages are at home. The others were stored to by both ranks,
// and questions and answers say so by stamps.
ROLE(faults_take_no_memory) {
  Member at;
  const Placement homes[] = {{0, many_pages / 2, 0}, {many_pages / 2, many_pages / 2, 1}};
  at.begin(many_pages, homes);
  const bool is_direct = number_of_environment("DIRECT", 1) != 0;
  std::uint64_t news_most = 0, mallocs_most = 0;
  if (!is_direct) {
    // The transport keeps an operation for each question under way: 64, and the tables of these.
    news_most = 100;
    mallocs_most = std::numeric_limits<std::uint64_t>::max();
  }
  for (std::uint64_t round = 1; round <= 5; round++) {
    if (at.me() == 0) store_all(at, round);
    at.barrier();
    wait_for_diffs(at);
    at.barrier();
    if (at.me() == 1) {
      const Counting counting;
      store_all(at, round);
    }
    at.barrier();
    wait_for_diffs(at);
    at.barrier();
  }
  check(news <= news_most, "a fault takes no memory by new", news);
  check(mallocs <= mallocs_most, "nor by malloc", mallocs);
  check(at.node->stats().misses >= many_pages / 2, "there were faults", at.node->stats().misses);
  return at.finish();
}

TEST(FaultMemory, ComesFromNoAllocator) { TestJob("faults_take_no_memory", 2).expect_success(); }

TEST(FaultMemory, ComesFromNoAllocatorWherePagesAreMessages) {
  TestJob("faults_take_no_memory", 2, {{"IW_DSM_DIRECT", "no"}, {"DIRECT", "0"}}).expect_success();
}

// Rank 1 stores to two halves by turns. The copies of the other half are given up, and their diffs
// stay. The next fault there sends the diffs to the home before it asks for the page. [DSM-PULL-1]
ROLE(faults_that_send_diffs) {
  Member at;
  const Placement homes[] = {{0, many_pages, 0}};
  at.begin(many_pages, homes);
  for (PageNumber round = 0; round < 6; round++) {
    if (at.me() == 1) {
      const Counting counting;
      const PageNumber first = round % 2 * (many_pages / 2);
      for (PageNumber page = first; page < first + many_pages / 2; page++) {
        at.words[page * at.page_words] = round + 1;
      }
    }
    at.barrier();
  }
  // As in the test above, the transport takes some.
  check(news <= 100, "a fault takes no memory by new", news);
  check(at.me() == 0 || at.node->stats().mail.diffs > 0, "there were diffs");
  return at.finish();
}

TEST(FaultMemory, ComesFromNoAllocatorWhereAFaultSendsDiffs) {
  TestJob("faults_that_send_diffs", 2, {{"IW_DSM_PULL", "yes"}, {"IW_DSM_CACHE", "256K"}})
      .expect_success();
}

// The test can see what it looks for.
TEST(FaultMemory, IsCounted) {
  const Counting counting;
  std::free(std::malloc(100));
  const std::vector<int> some(100);
  EXPECT_EQ(some.size(), 100u);
  EXPECT_GE(mallocs, 1u);
  EXPECT_GE(news, 1u);
}

}  // namespace iw::dsm
