// A frame of six 256 x 256 double arrays, every value new, writer to server to reader over loopback
// TCP with durability memory, from the first store until the reader's arrays have it; beside the
// same bytes sent twice raw over TCP (writer to relay to reader). Writes frame.csv:
// placement,system,ms,bytes.
#include <interweave.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "harness/child_server.h"
#include "harness/placement.h"
#include "harness/results.h"
#include "harness/segment.h"
#include "harness/socket_pair.h"
#include "harness/two_processes.h"

namespace {

using bench::fail;
using bench::note_change;
using bench::open_segment;
using bench::TwoProcesses;

constexpr int kArrays = 6;
constexpr std::size_t kDoubles = 256 * 256;
constexpr std::size_t kFrameBytes = kArrays * kDoubles * sizeof(double);
constexpr int kRounds = 120;
constexpr int kWarmUp = 20;

struct Figure {
  double ms = 0;
  double bytes = 0;
};

std::string name_of(int array) { return "array" + std::to_string(array); }

void store_frame(double* const* arrays, int round) {
  for (int a = 0; a < kArrays; ++a) {
    for (std::size_t i = 0; i < kDoubles; ++i) {
      arrays[a][i] = static_cast<double>(round + 1) * 1.25 + static_cast<double>(i);
    }
  }
}

void check_frame(const double* const* arrays, int round) {
  for (int a = 0; a < kArrays; ++a) {
    for (const std::size_t i : {std::size_t{0}, kDoubles / 2, kDoubles - 1}) {
      const double wanted = static_cast<double>(round + 1) * 1.25 + static_cast<double>(i);
      if (arrays[a][i] == wanted) continue;
      std::fprintf(stderr, "bench: frame %d did not arrive\n", round);
      std::exit(1);
    }
  }
}

std::uint64_t bytes_sent(IW_handle_t segment) {
  IW_stats_t stats{};
  stats.size = sizeof stats;
  if (IW_stats(segment, &stats) != 0) fail("stats");
  return stats.bytes_sent;
}

void lock_for_reading(IW_handle_t segment) {
  if (IW_rl_acquire(segment) != 0) fail("reader lock");
}

void interweave_reader(TwoProcesses& pair, const std::string& url) {
  pair.wait_go();
  const IW_handle_t segment = open_segment(url);
  const double* arrays[kArrays];
  for (int a = 0; a < kArrays; ++a) {
    arrays[a] = static_cast<const double*>(IW_mip_to_ptr((url + "#" + name_of(a)).c_str()));
    if (arrays[a] == nullptr) fail("mip_to_ptr");
  }
  if (IW_on_change(segment, note_change, nullptr) != 0) fail("on_change");
  pollfd wake{IW_event_fd(), POLLIN, 0};
  for (int i = 0; i < 8; ++i) {  // subscribed after a few useless polls (POLL-1)
    lock_for_reading(segment);
    IW_rl_release(segment);
  }
  std::uint64_t version = IW_version(segment);
  pair.ready();
  for (int round = 0; round < pair.rounds();) {
    poll(&wake, 1, -1);
    if (IW_dispatch() != 0) fail("dispatch");
    lock_for_reading(segment);
    if (IW_version(segment) != version) {
      pair.had_it();
      version = IW_version(segment);
      check_frame(arrays, round++);
    }
    IW_rl_release(segment);
  }
}

Figure interweave_frame() {
  const bench::ChildServer server = bench::ChildServer::interweave("127.0.0.2:0");
  const std::string url = server.address() + "/frame";
  TwoProcesses writer(1, [&](TwoProcesses& report) {
    TwoProcesses pair(kRounds, [&](TwoProcesses& inner) { interweave_reader(inner, url); });
    const IW_handle_t segment = open_segment(url);
    double* arrays[kArrays];
    if (IW_wl_acquire(segment) != 0) fail("writer lock");
    for (int a = 0; a < kArrays; ++a) {
      arrays[a] =
          static_cast<double*>(IW_malloc_array(segment, IW_double, kDoubles, name_of(a).c_str()));
      if (arrays[a] == nullptr) fail("malloc");
    }
    if (IW_wl_release(segment) != 0) fail("release");
    pair.go();
    pair.wait_ready();
    std::vector<double> samples;
    const std::uint64_t sent_before = bytes_sent(segment);
    for (int round = 0; round < kRounds; ++round) {
      if (IW_wl_acquire(segment) != 0) fail("writer lock");
      const std::int64_t begin = bench::now_ns();
      store_frame(arrays, round);
      if (IW_wl_release(segment) != 0) fail("release");
      const std::int64_t end = pair.wait_had_it();
      if (round >= kWarmUp) samples.push_back(static_cast<double>(end - begin) / 1e6);
    }
    report.report_bytes((bytes_sent(segment) - sent_before) / kRounds);
    report.report_us(bench::median(samples) * 1e3);
  });
  const double bytes = static_cast<double>(writer.reader_bytes());
  return {writer.reader_us() / 1e3, bytes};
}

// Passes whole frames on, as a server that has to see a release whole does.
[[noreturn]] void relay(int from, int to) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::vector<char> frame(kFrameBytes);
  for (;;) {
    bench::read_all(from, frame.data(), frame.size());
    bench::write_all(to, frame.data(), frame.size());
  }
}

Figure raw_tcp_twice() {
  int first[2], second[2];
  bench::tcp_pair(first);
  bench::tcp_pair(second);
  const pid_t relay_pid = fork();
  if (relay_pid == 0) relay(first[1], second[0]);
  std::vector<double> storage(kArrays * kDoubles);
  double* arrays[kArrays];
  for (int a = 0; a < kArrays; ++a)
    arrays[a] = storage.data() + static_cast<std::size_t>(a) * kDoubles;
  std::vector<double> samples;
  {
    TwoProcesses pair(kRounds, [&](TwoProcesses& inner) {
      inner.ready();
      for (int round = 0; round < inner.rounds(); ++round) {
        bench::read_all(second[1], storage.data(), kFrameBytes);
        inner.had_it();
        check_frame(arrays, round);
      }
    });
    pair.wait_ready();
    for (int round = 0; round < kRounds; ++round) {
      const std::int64_t begin = bench::now_ns();
      store_frame(arrays, round);
      bench::write_all(first[0], storage.data(), kFrameBytes);
      const std::int64_t end = pair.wait_had_it();
      if (round >= kWarmUp) samples.push_back(static_cast<double>(end - begin) / 1e6);
    }
  }
  kill(relay_pid, SIGKILL);
  waitpid(relay_pid, nullptr, 0);
  for (const int fd : {first[0], first[1], second[0], second[1]}) close(fd);
  return {bench::median(samples), static_cast<double>(kFrameBytes)};
}

}  // namespace

int main() {
  bench::Csv csv("frame.csv", "placement,system,ms,bytes");
  std::printf("a frame of six 256 x 256 doubles (3 MiB) over loopback TCP; medians of %d\n",
              kRounds - kWarmUp);
  std::printf("%-10s %-16s %8s %12s\n", "placement", "system", "ms", "bytes sent");
  for (const bench::Placement placement : {bench::Placement::free, bench::Placement::one_core}) {
    bench::place(placement);
    const char* where = bench::placement_name(placement);
    const Figure raw = raw_tcp_twice();
    const Figure ours = interweave_frame();
    for (const auto& [system, figure] :
         {std::pair{"raw-tcp-twice", raw}, std::pair{"interweave-tcp", ours}}) {
      std::printf("%-10s %-16s %8.2f %12.0f\n", where, system, figure.ms, figure.bytes);
      csv.row(bench::format("%s,%s,%.3f,%.0f", where, system, figure.ms, figure.bytes));
    }
    std::printf("%-10s interweave takes %.2fx the time of the bytes sent twice (target: 1.5x)\n",
                where, ours.ms / raw.ms);
  }
  csv.finish();
  return 0;
}
