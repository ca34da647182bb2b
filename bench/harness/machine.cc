#include "harness/machine.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "harness/results.h"

namespace bench {
namespace {

constexpr std::size_t kCopiedBytes = 64 << 20;
constexpr int kCopies = 5;
constexpr int kLoopSteps = 10'000'000;
constexpr int kLoops = 5;
constexpr std::size_t kSyncedBytes = 4096;
constexpr int kMostSyncs = 200;
constexpr double kMostSyncMs = 1000;

template <typename F>
double ms_of(F f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

// The compiler may neither leave the work out nor do it at another time.
void keep(const void* bytes) { asm volatile("" : : "r"(bytes) : "memory"); }

double memcpy_mb_s() {
  const std::vector<char> from(kCopiedBytes, 1);
  std::vector<char> to(kCopiedBytes, 2);
  std::vector<double> samples;
  for (int i = 0; i < kCopies; ++i) {
    samples.push_back(ms_of([&] {
      std::memcpy(to.data(), from.data(), kCopiedBytes);
      keep(to.data());
    }));
  }
  return kCopiedBytes / 1e3 / median(samples);
}

double loop_ms() {
  std::vector<double> samples;
  for (int i = 0; i < kLoops; ++i) {
    samples.push_back(ms_of([] {
      std::uint64_t value = 1;
      for (int step = 0; step < kLoopSteps; ++step) {
        value = value * 6364136223846793005u + 1442695040888963407u;
        value ^= value >> 33;
      }
      keep(&value);
    }));
  }
  return median(samples);
}

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

// Sorted times of one fdatasync each.
std::vector<double> sync_times_ms() {
  char name[] = "/var/tmp/interweave-bench.XXXXXX";
  const int file = mkstemp(name);
  if (file < 0) fail("bench: a file in /var/tmp");
  unlink(name);
  const std::vector<char> bytes(kSyncedBytes, 3);
  std::vector<double> samples;
  double all_ms = 0;
  while (samples.size() < kMostSyncs && all_ms < kMostSyncMs) {
    if (write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
      fail("bench: a write to /var/tmp");
    }
    samples.push_back(ms_of([&] {
      if (fdatasync(file) != 0) fail("bench: fdatasync in /var/tmp");
    }));
    all_ms += samples.back();
  }
  close(file);
  std::sort(samples.begin(), samples.end());
  return samples;
}

}  // namespace

Machine measure_machine() {
  const std::vector<double> syncs = sync_times_ms();
  return {memcpy_mb_s(), loop_ms(), median(syncs), syncs[(syncs.size() - 1) * 99 / 100]};
}

void record_machine(const std::string& figure) {
  static bool is_recorded = false;
  if (std::exchange(is_recorded, true)) return;
  const Machine machine = measure_machine();
  std::printf("machine: memcpy %.0f MB/s, loop %.2f ms, fdatasync %.3f ms, p99 %.3f ms\n",
              machine.memcpy_mb_s, machine.loop_ms, machine.fdatasync_median_ms,
              machine.fdatasync_p99_ms);
  write_result(figure + "_machine.csv",
               "memcpy_mb_s,loop_ms,fdatasync_median_ms,fdatasync_p99_ms\n" +
                   format("%.0f,%.3f,%.4f,%.4f\n", machine.memcpy_mb_s, machine.loop_ms,
                          machine.fdatasync_median_ms, machine.fdatasync_p99_ms));
}

}  // namespace bench
