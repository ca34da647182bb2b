// One writer and 1, 10 or 100 reader processes that are pushed every version: how long the writer's
// release takes, paced so that the machine idles in between; and with one of eleven readers
// stopped, what that costs the writer and the server's memory. Writes readers.csv:
// readers,stopped,release_us,server_growth_kib.
#include <interweave.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "harness/child_server.h"
#include "harness/results.h"
#include "harness/segment.h"
#include "harness/two_processes.h"

namespace {

using bench::fail;
using bench::note_change;
using bench::open_segment;
using bench::resident_bytes;

constexpr std::size_t kDoubles = 131072;  // 1 MiB
constexpr std::size_t kChanged = kDoubles / 100;
constexpr int kRounds = 100;
constexpr int kWarmUp = 10;
constexpr long kPause_ns = 30'000'000;

struct Shared {
  sem_t go;
  sem_t ready;
};

void read_once(IW_handle_t segment) {
  if (IW_rl_acquire(segment) != 0) fail("reader lock");
  IW_rl_release(segment);
}

[[noreturn]] void read_for_ever(Shared& shared, const std::string& url) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sem_wait(&shared.go);
  const IW_handle_t segment = open_segment(url);
  pollfd wake{IW_event_fd(), POLLIN, 0};
  if (IW_on_change(segment, note_change, nullptr) != 0) fail("on_change");
  for (int i = 0; i < 8; ++i) read_once(segment);  // subscribed after a few useless polls (POLL-1)
  sem_post(&shared.ready);
  for (;;) {
    poll(&wake, 1, -1);
    if (IW_dispatch() != 0) fail("dispatch");
    read_once(segment);
  }
}

struct Figure {
  double release_us = 0;
  long growth_kib = 0;
};

Figure write_paced(const std::string& url, int readers, Shared& shared, pid_t stopped,
                   pid_t server) {
  const IW_handle_t segment = open_segment(url);
  if (IW_wl_acquire(segment) != 0) fail("writer lock");
  auto* const doubles =
      static_cast<double*>(IW_malloc_array(segment, IW_double, kDoubles, "doubles"));
  if (doubles == nullptr) fail("malloc");
  if (IW_wl_release(segment) != 0) fail("release");
  for (int i = 0; i < readers; ++i) sem_post(&shared.go);
  for (int i = 0; i < readers; ++i) sem_wait(&shared.ready);
  if (stopped != 0) kill(stopped, SIGSTOP);
  std::vector<double> samples;
  std::size_t before_kib = 0;
  for (int round = 0; round < kRounds; ++round) {
    const timespec pause{0, kPause_ns};
    nanosleep(&pause, nullptr);
    if (round == kWarmUp) before_kib = resident_bytes(server) / 1024;
    if (IW_wl_acquire(segment) != 0) fail("writer lock");
    for (std::size_t i = 0; i < kChanged; ++i) doubles[i] = round + static_cast<double>(i);
    const std::int64_t begin = bench::now_ns();
    if (IW_wl_release(segment) != 0) fail("release");
    if (round >= kWarmUp) samples.push_back(static_cast<double>(bench::now_ns() - begin) / 1e3);
  }
  const long growth =
      static_cast<long>(resident_bytes(server) / 1024) - static_cast<long>(before_kib);
  return {bench::median(samples), growth};
}

Figure measure(int readers, bool stop_one) {
  const bench::ChildServer server = bench::ChildServer::interweave();
  const std::string url = server.address() + "/readers";
  auto* const shared =
      new (mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
          Shared;
  sem_init(&shared->go, 1, 0);
  sem_init(&shared->ready, 1, 0);
  // The writer is a process of its own, too: this one never uses the library.
  std::vector<pid_t> children;
  for (int i = 0; i < readers; ++i) {
    const pid_t pid = fork();
    if (pid == 0) read_for_ever(*shared, url);
    children.push_back(pid);
  }
  Figure figure;
  {
    bench::TwoProcesses writer(1, [&](bench::TwoProcesses& report) {
      const pid_t stopped = stop_one ? children.front() : 0;
      const Figure found = write_paced(url, readers, *shared, stopped, server.pid());
      report.report_bytes(static_cast<std::uint64_t>(found.growth_kib));
      report.report_us(found.release_us);
    });
    figure.release_us = writer.reader_us();
    figure.growth_kib = static_cast<long>(writer.reader_bytes());
  }
  for (const pid_t pid : children) kill(pid, SIGKILL);
  for (const pid_t pid : children) waitpid(pid, nullptr, 0);
  munmap(shared, sizeof(Shared));
  return figure;
}

}  // namespace

int main() {
  bench::Csv csv("readers.csv", "readers,stopped,release_us,server_growth_kib");
  std::printf("1 %% of 1 MiB changed, a release every %ld ms; medians of %d\n", kPause_ns / 1000000,
              kRounds - kWarmUp);
  std::printf("%8s %8s %12s %18s\n", "readers", "stopped", "release us", "server growth KiB");
  double alone_us = 0;
  for (const auto& [readers, stop_one] :
       {std::pair{1, false}, std::pair{10, false}, std::pair{100, false}, std::pair{11, true}}) {
    const Figure figure = measure(readers, stop_one);
    if (readers == 1) alone_us = figure.release_us;
    std::printf("%8d %8d %12.1f %18ld   %.2fx of one reader\n", readers, stop_one ? 1 : 0,
                figure.release_us, figure.growth_kib, figure.release_us / alone_us);
    csv.row(bench::format("%d,%d,%.1f,%ld", readers, stop_one ? 1 : 0, figure.release_us,
                          figure.growth_kib));
  }
  csv.finish();
  return 0;
}
