// More ranks than processors: how much processor time all ranks take together. In each of 20
// intervals a rank loads 100 pages that the next rank has changed, and works for 100 us or so
// behind each; then comes a barrier. Rank 0 prints the processor time of all threads of all ranks,
// for a work of one rank. One rank alone does the same work without the others' pages. bench/dsm.py
// starts it.
#include <interweave/dsm.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kPages = 100;
constexpr int kIntervals = 20;
constexpr int kAdditions = 150'000;  // more than 100 us

void must(int result, const char* call) {
  if (result >= 0) return;
  std::fprintf(stderr, "crowded: %s: %s\n", call, dsm_strerror(result));
  std::exit(1);
}

double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void work() {
  volatile unsigned sum = 0;
  for (unsigned i = 0; i < kAdditions; i++) sum = sum + i;
}

}  // namespace

int main() {
  must(dsm_init(nullptr), "dsm_init");
  const auto ranks = static_cast<std::size_t>(dsm_size());
  const auto me = static_cast<std::size_t>(dsm_rank());
  const std::size_t bytes = kPages * kPageBytes;
  auto* const pages = static_cast<char*>(dsm_malloc(ranks * bytes));
  if (pages == nullptr) must(dsm_errno(), "dsm_malloc");
  must(dsm_home(pages, ranks * bytes, DSM_BLOCKS, 0), "dsm_home");
  must(dsm_barrier(1), "dsm_barrier");
  const auto page_of = [&](std::size_t rank, std::size_t page) {
    return reinterpret_cast<volatile int*>(pages + rank * bytes + page * kPageBytes);
  };
  const double before = cpu_seconds();
  for (int interval = 0; interval < kIntervals; interval++) {
    for (std::size_t page = 0; page < kPages; page++) {
      (void)*page_of((me + 1) % ranks, page);
      work();
    }
    must(dsm_barrier(1), "dsm_barrier");
    for (std::size_t page = 0; page < kPages; page++) *page_of(me, page) = interval;
    must(dsm_barrier(1), "dsm_barrier");
  }
  double cpu = cpu_seconds() - before;
  must(dsm_reduce(DSM_SUM, DSM_DOUBLE, &cpu, &cpu, 1), "dsm_reduce");
  if (me == 0) std::printf("cpu seconds of a rank: %.4f\n", cpu / static_cast<double>(ranks));
  must(dsm_finish(), "dsm_finish");
  return 0;
}
