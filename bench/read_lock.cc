// An uncontended reader lock on a copy that is recent enough: nanoseconds for acquire and release,
// and the messages that a million of them cost. Writes read_lock.csv: model,ns,messages.
#include <interweave.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "harness/child_server.h"
#include "harness/results.h"
#include "harness/segment.h"
#include "harness/two_processes.h"

namespace {

using bench::fail;

constexpr int kBatches = 200;
constexpr int kLocksABatch = 5000;

void lock_once(IW_handle_t segment) {
  if (IW_rl_acquire(segment) != 0) fail("reader lock");
  if (IW_rl_release(segment) != 0) fail("release");
}

// Messages received are left out: they may answer requests from before the locks.
std::uint64_t messages_of(IW_handle_t segment) {
  IW_stats_t stats{};
  stats.size = sizeof stats;
  if (IW_stats(segment, &stats) != 0) fail("stats");
  return stats.messages_sent;
}

void measure(IW_handle_t segment, const char* name, IW_coherence_t model, double x,
             bench::Csv& csv) {
  if (IW_set_coherence(segment, model, x) != 0) fail("set_coherence");
  for (int i = 0; i < 16; ++i) lock_once(segment);
  const std::uint64_t before = messages_of(segment);
  std::vector<double> samples;
  for (int batch = 0; batch < kBatches; ++batch) {
    const std::int64_t begin = bench::now_ns();
    for (int i = 0; i < kLocksABatch; ++i) lock_once(segment);
    samples.push_back(static_cast<double>(bench::now_ns() - begin) / kLocksABatch);
  }
  const double ns = bench::median(samples);
  const auto messages = static_cast<unsigned long long>(messages_of(segment) - before);
  std::printf("%-16s %8.0f ns  %6llu messages sent in %d locks\n", name, ns, messages,
              kBatches * kLocksABatch);
  csv.row(bench::format("%s,%.1f,%llu", name, ns, messages));
}

}  // namespace

int main() {
  const bench::ChildServer server = bench::ChildServer::interweave();
  const std::string url = server.address() + "/read-lock";
  const IW_handle_t segment = IW_open_segment(url.c_str());
  if (segment == nullptr) fail("open");
  if (IW_wl_acquire(segment) != 0) fail("writer lock");
  if (IW_malloc_array(segment, IW_double, 1000, "array") == nullptr) fail("malloc");
  if (IW_wl_release(segment) != 0) fail("release");
  std::printf("acquire and release of an uncontended reader lock (target: under 200 ns)\n");
  bench::Csv csv("read_lock.csv", "model,ns,messages");
  measure(segment, "full notified", IW_FULL, 0, csv);
  measure(segment, "delta 3", IW_DELTA, 3, csv);
  measure(segment, "temporal 3600 s", IW_TEMPORAL, 3600, csv);
  measure(segment, "null", IW_NULL, 0, csv);
  csv.finish();
  return 0;
}
