// What a rank's heap adds to the network's time: a fault until the access is done, closing pages
// behind write notices, and diffs, for both ways to take faults and pages of 4, 8 and 64 KiB. A
// handler with a mutex, which fills and opens the pages, stands for the protocol and other ranks.
// The rival is a bare handler of SIGSEGV, which only calls mprotect. Writes dsm_faults.csv:
// way,page_bytes,operation,order,us: medians of one page.
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "dsm/memory/heap.h"
#include "harness/results.h"
#include "platform/mutex.h"

namespace {

using namespace iw::dsm;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kPages = 512;
constexpr int kRounds = 9;
constexpr const char* in_order_name = "in order";

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "dsm_faults: %s\n", what);
  std::exit(1);
}

class Samples {
 public:
  // An operation of a page, or of so many from each on.
  template <typename Do>
  void time(const char* operation, const char* order, const std::vector<PageNumber>& pages, Do work,
            std::size_t each = 1) {
    for (const PageNumber page : pages) {
      const auto begin = Clock::now();
      work(page);
      const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
      us_[{operation, order}].push_back(took.count() / static_cast<double>(each));
    }
  }

  void print(bench::Csv& csv, const char* way, std::size_t page_bytes) const {
    for (const auto& [name, us] : us_) {
      const auto& [operation, order] = name;
      const double middle = bench::median(us);
      std::printf("%-12s %6zu  %-20s %-10s %8.2f us\n", way, page_bytes, operation.c_str(),
                  order.c_str(), middle);
      csv.row(bench::format("%s,%zu,%s,%s,%.3f", way, page_bytes, operation.c_str(), order.c_str(),
                            middle));
    }
  }

 private:
  std::map<std::pair<std::string, std::string>, std::vector<double>> us_;
};

std::vector<PageNumber> in_order() {
  std::vector<PageNumber> pages(kPages);
  for (std::size_t i = 0; i < kPages; i++) pages[i] = i;
  return pages;
}

// Each other page of twice as many, in random order.
std::vector<PageNumber> scattered() {
  std::vector<PageNumber> pages = in_order();
  for (PageNumber& each : pages) each *= 2;
  std::shuffle(pages.begin(), pages.end(), std::mt19937(1));
  return pages;
}

class Opener final : public FaultHandler {
 public:
  explicit Opener(Heap& heap) : heap_(heap), arrived_(heap.page_bytes(), std::byte{1}) {
    heap.watch(this);
  }
  ~Opener() override { heap_.watch(nullptr); }

  bool on_fault(PageNumber page, Access wanted) override {
    const iw::platform::MutexLock lock(mutex_);
    if (fills) heap_.fill(page, arrived_);
    if (wanted == Access::write && makes_twins && !heap_.make_twin(page)) return false;
    heap_.allow(page, 1, wanted);
    return true;
  }

  bool fills = false;
  bool makes_twins = false;

 private:
  Heap& heap_;
  const std::vector<std::byte> arrived_;
  iw::platform::Mutex mutex_;
};

std::unique_ptr<Heap> map_heap(FaultWay way, std::size_t page_bytes) {
  std::string error;
  for (const std::uintptr_t at : Heap::addresses()) {
    bool is_taken = false;
    auto heap = Heap::map({std::size_t{1} << 30, page_bytes, way}, reinterpret_cast<std::byte*>(at),
                          &is_taken, &error);
    if (heap != nullptr) return heap;
    if (!is_taken) break;
  }
  std::fprintf(stderr, "dsm_faults: left out: %s\n", error.c_str());
  return nullptr;
}

class Measure {
 public:
  Measure(Heap& heap, Samples& samples) : heap_(heap), opener_(heap), samples_(samples) {}

  // The pages are closed before and afterwards.
  void round(const char* order, const std::vector<PageNumber>& pages) {
    const auto diff = [&](PageNumber page) { take_diff(page); };
    const auto close = [&](PageNumber page) { heap_.allow(page, 1, Access::none); };
    opener_.fills = opener_.makes_twins = true;
    samples_.time("write miss", order, pages, [&](PageNumber page) { store(page, 3); });
    samples_.time("diff of a word", order, pages, diff);
    for (const PageNumber page : pages) close(page);
    samples_.time("read miss", order, pages, [&](PageNumber page) { load(page); });
    opener_.fills = false;
    samples_.time("write fault", order, pages, [&](PageNumber page) { store(page, 4); });
    for (const PageNumber page : pages) std::memset(at(page), 9, heap_.page_bytes());
    samples_.time("diff of all", order, pages, diff);
    opener_.makes_twins = false;
    samples_.time("write at home", order, pages, [&](PageNumber page) { store(page, 5); });
    samples_.time("protect", order, pages,
                  [&](PageNumber page) { heap_.allow(page, 1, Access::read); });
    samples_.time("invalidate", order, pages, close);
    for (const PageNumber page : pages) load(page);
    if (std::strcmp(order, in_order_name) == 0) {
      samples_.time(
          "invalidate", "64 a call", {0, 64, 128, 192},
          [&](PageNumber page) { heap_.allow(page, 64, Access::none); }, 64);
    }
    for (const PageNumber page : pages) close(page);
  }

  // Pages that do not lie together, in one call. They are closed before and afterwards.
  void round_of_all(std::vector<PageNumber> pages) {
    std::sort(pages.begin(), pages.end());
    opener_.fills = opener_.makes_twins = false;
    for (const PageNumber page : pages) store(page, 6);
    const auto change = [&](const char* operation, Access access) {
      samples_.time(
          operation, "scattered 512 a call", {0},
          [&](PageNumber) { heap_.allow_all(pages, access); }, pages.size());
    };
    change("protect", Access::read);
    change("invalidate", Access::none);
  }

 private:
  std::byte* at(PageNumber page) const { return heap_.begin() + page * heap_.page_bytes(); }
  void store(PageNumber page, int value) const {
    *reinterpret_cast<volatile int*>(at(page)) = value;
  }
  void load(PageNumber page) const { (void)*reinterpret_cast<volatile int*>(at(page)); }
  // As at the end of an interval.
  void take_diff(PageNumber page) {
    heap_.allow(page, 1, Access::read);
    if (heap_.take_diff(page).empty()) fail("a page that was stored to has no diff");
  }

  Heap& heap_;
  Opener opener_;
  Samples& samples_;
};

void measure(FaultWay way, std::size_t page_bytes, bench::Csv& csv) {
  const auto heap = map_heap(way, page_bytes);
  if (heap == nullptr) return;
  heap->end_replay(false);
  Samples samples;
  Measure pages(*heap, samples);
  for (int round = 0; round < kRounds; round++) {
    pages.round(in_order_name, in_order());
    pages.round("scattered", scattered());
    pages.round_of_all(scattered());
  }
  samples.print(csv, way == FaultWay::userfaultfd ? "userfaultfd" : "sigsegv", page_bytes);
}

// The rival.
std::byte* bare_begin;
std::size_t bare_page_bytes;
void on_bare_fault(int, siginfo_t* info, void*) {
  const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(info->si_addr) - bare_begin);
  if (mprotect(bare_begin + offset / bare_page_bytes * bare_page_bytes, bare_page_bytes,
               PROT_READ | PROT_WRITE) != 0)
    fail("the system refused memory");
}

void measure_bare(std::size_t page_bytes, bench::Csv& csv) {
  bare_page_bytes = page_bytes;
  struct sigaction action {};
  action.sa_sigaction = on_bare_fault;
  action.sa_flags = SA_SIGINFO;
  struct sigaction before {};
  sigaction(SIGSEGV, &action, &before);
  const std::size_t bytes = 2 * kPages * page_bytes;
  void* const mapped =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) fail("the system refused memory");
  std::memset(mapped, 1, bytes);
  bare_begin = static_cast<std::byte*>(mapped);
  Samples samples;
  for (int round = 0; round < kRounds; round++) {
    for (const bool is_in_order : {true, false}) {
      mprotect(mapped, bytes, PROT_READ);
      samples.time("write fault", is_in_order ? in_order_name : "scattered",
                   is_in_order ? in_order() : scattered(), [&](PageNumber page) {
                     auto* const at = bare_begin + page * page_bytes;
                     *reinterpret_cast<volatile int*>(at) = 1;
                   });
    }
  }
  munmap(mapped, bytes);
  sigaction(SIGSEGV, &before, nullptr);
  samples.print(csv, "bare", page_bytes);
}

}  // namespace

int main() {
  bench::Csv csv("dsm_faults.csv", "way,page_bytes,operation,order,us");
  for (const std::size_t page_bytes : {4096, 8192, 65536}) {
    measure_bare(page_bytes, csv);
    measure(FaultWay::userfaultfd, page_bytes, csv);
    measure(FaultWay::sigsegv, page_bytes, csv);
  }
  csv.finish();
}
