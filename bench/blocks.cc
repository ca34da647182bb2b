// The cost of 100,000 blocks compared with 1,000: of opening in a process without a copy and in one
// with a copy, of an uncontended reader lock, of a release of one word and of a look-up by name.
// Writes blocks.csv: blocks,operation,us.
#include <interweave.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "harness/child_server.h"
#include "harness/placement.h"
#include "harness/results.h"
#include "harness/segment.h"
#include "harness/two_processes.h"

namespace {

using bench::fail;
using bench::open_segment;

constexpr int kRounds = 300;

std::vector<int*> make_blocks(IW_handle_t segment, int count) {
  std::vector<int*> blocks;
  if (IW_wl_acquire(segment) != 0) fail("writer lock");
  for (int i = 0; i < count; ++i) {
    const std::string name = "block" + std::to_string(i);
    blocks.push_back(static_cast<int*>(IW_malloc_array(segment, IW_int, 4, name.c_str())));
    if (blocks.back() == nullptr) fail("malloc");
  }
  if (IW_wl_release(segment) != 0) fail("release");
  return blocks;
}

template <typename Operation>
double median_us(Operation operation) {
  std::vector<double> samples;
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t begin = bench::now_ns();
    operation(round);
    samples.push_back(static_cast<double>(bench::now_ns() - begin) / 1e3);
  }
  return bench::median(samples);
}

struct Costs {
  double open_us, reader_lock_us, release_us, look_up_us;
};

// Of processes that have no copy yet; no data moves before their first lock.
double open_elsewhere_us(const std::string& url) {
  std::vector<double> samples;
  for (int i = 0; i < 31; ++i) {
    bench::TwoProcesses other(1, [&](bench::TwoProcesses& report) {
      (void)open_segment(url + "-unused");  // the connection, the threads
      const std::int64_t begin = bench::now_ns();
      (void)open_segment(url);
      report.report_us(static_cast<double>(bench::now_ns() - begin) / 1e3);
    });
    samples.push_back(other.reader_us());
  }
  return bench::median(samples);
}

Costs measure(const std::string& url, int count) {
  const IW_handle_t segment = open_segment(url);
  const std::vector<int*> blocks = make_blocks(segment, count);
  const auto any = [&](int round) {
    return blocks[static_cast<std::size_t>(round) * 7919 % blocks.size()];
  };
  Costs costs{};
  costs.release_us = median_us([&](int round) {
    if (IW_wl_acquire(segment) != 0) fail("writer lock");
    any(round)[1] = round + 1;
    if (IW_wl_release(segment) != 0) fail("release");
  });
  costs.reader_lock_us = median_us([&](int) {
    if (IW_rl_acquire(segment) != 0 || IW_rl_release(segment) != 0) fail("reader lock");
  });
  costs.look_up_us = median_us([&](int round) {
    const std::string mip = url + "#block" + std::to_string(round * 7919 % count);
    if (IW_mip_to_ptr(mip.c_str()) != any(round)) fail("mip_to_ptr");
  });
  costs.open_us = open_elsewhere_us(url);
  return costs;
}

}  // namespace

int main() {
  bench::place(bench::Placement::one_core);  // wake-ups across cores would hide the rest
  const bench::ChildServer server = bench::ChildServer::interweave();
  bench::Csv csv("blocks.csv", "blocks,operation,us");
  std::printf("medians of %d on one core, in microseconds\n%10s %10s %12s %16s %10s\n", kRounds,
              "blocks", "open", "reader lock", "one-word release", "look-up");
  Costs few{};
  Costs many{};
  for (const int count : {1000, 100000}) {
    const Costs costs = measure(server.address() + "/blocks" + std::to_string(count), count);
    (count == 1000 ? few : many) = costs;
    std::printf("%10d %10.2f %12.3f %16.1f %10.2f\n", count, costs.open_us, costs.reader_lock_us,
                costs.release_us, costs.look_up_us);
    for (const auto& [operation, us] :
         {std::pair{"open", costs.open_us}, std::pair{"reader_lock", costs.reader_lock_us},
          std::pair{"release", costs.release_us}, std::pair{"look_up", costs.look_up_us}}) {
      csv.row(bench::format("%d,%s,%.3f", count, operation, us));
    }
  }
  std::printf(
      "100,000 blocks: opening %.2fx, locking %.2fx, a one-word release %.2fx of the cost at 1,000 "
      "(target: 2x); a look-up %.2fx\n",
      many.open_us / few.open_us, many.reader_lock_us / few.reader_lock_us,
      many.release_us / few.release_us, many.look_up_us / few.look_up_us);
  csv.finish();
  return 0;
}
