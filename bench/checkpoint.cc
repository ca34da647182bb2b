// The cost of a large segment's checkpoint for those who use others. A writer rewrites a large
// segment 1 MiB at a time, with pauses, until the server saves it. Two clients measure lock and
// release of a small segment each, one MEMORY and one SYNCED. They measure alone, then while the
// writer writes, then while the checkpoint is under way. The second before the checkpoint's file
// appears counts as well, because an older server makes the whole checkpoint then. Writes
// checkpoint.csv: mib,measure,value. The rival is the server of another tree: IW_PROGRAM.
//   bench_checkpoint [MIB...]
#include <interweave.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

#include "harness/child_server.h"
#include "harness/results.h"
#include "harness/segment.h"
#include "harness/two_processes.h"

namespace {

using bench::fail;
using bench::now_ns;

constexpr std::size_t kMib_ints = 262144;
constexpr int kBlock_mib = 16;
constexpr int kMost_samples = 1 << 20;
constexpr useconds_t kPause_us = 1000;
constexpr useconds_t kWriter_pause_us = 5000;
constexpr std::int64_t kSecond_ns = 1'000'000'000;
constexpr std::int64_t kAlone_ns = 5 * kSecond_ns;
constexpr std::int64_t kPatience_ns = 600 * kSecond_ns;
constexpr std::uintmax_t kLarge_file_bytes = 1 << 20;

struct Sample {
  std::int64_t at_ns;
  double us;
};

struct Prober {
  std::atomic<int> count;
  Sample samples[kMost_samples];
};

// What the processes share.
struct Shared {
  std::atomic<bool> is_filled, may_write;
  std::atomic<int> releases;
  Prober memory, synced;
};

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}

pid_t begin(const std::function<void()>& run) {
  const pid_t pid = fork();
  if (pid < 0) give_up("fork");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    run();
    _exit(0);
  }
  return pid;
}

int* new_ints(IW_handle_t segment, std::size_t count, const std::string& name) {
  if (IW_wl_acquire(segment) != 0) fail("writer lock");
  auto* const ints = static_cast<int*>(IW_malloc_array(segment, IW_int, count, name.c_str()));
  if (ints == nullptr) fail("malloc");
  std::fill(ints, ints + count, 1);
  if (IW_wl_release(segment) != 0) fail("release");
  return ints;
}

void probe(const std::string& server, const char* name, int durability, Prober& out) {
  const IW_handle_t segment = bench::open_segment(server + name, durability);
  int* const ints = new_ints(segment, 16, "ints");
  while (out.count < kMost_samples) {
    const std::int64_t begin = now_ns();
    if (IW_wl_acquire(segment) != 0) fail("writer lock");
    ints[0]++;
    if (IW_wl_release(segment) != 0) fail("release");
    out.samples[out.count] = {begin, static_cast<double>(now_ns() - begin) / 1e3};
    out.count++;
    usleep(kPause_us);
  }
}

void write_large(const std::string& server, int mib, Shared& shared) {
  const IW_handle_t segment = bench::open_segment(server + "/large", IW_WRITTEN);
  std::vector<int*> blocks;
  for (int at = 0; at < mib; at += kBlock_mib) {
    blocks.push_back(new_ints(segment, kBlock_mib * kMib_ints, "block-" + std::to_string(at)));
  }
  shared.is_filled = true;
  while (!shared.may_write) usleep(kPause_us);
  for (int round = 0;; round++) {
    const std::size_t place =
        static_cast<std::size_t>(round) * 7919 % static_cast<std::size_t>(mib);
    int* const ints = blocks[place / kBlock_mib] + place % kBlock_mib * kMib_ints;
    if (IW_wl_acquire(segment) != 0) fail("writer lock");
    std::fill(ints, ints + kMib_ints, round);
    if (IW_wl_release(segment) != 0) fail("release");
    shared.releases++;
    usleep(kWriter_pause_us);
  }
}

class Measurement {
 public:
  Measurement(int mib, bench::Csv& csv) : mib_(mib), csv_(csv) {}

  void run() {
    char name[] = "/var/tmp/interweave-bench.XXXXXX";
    if (mkdtemp(name) == nullptr) give_up("a folder");
    store_ = name;
    void* const memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) give_up("memory");
    shared_ = new (memory) Shared;
    std::printf("%d MiB\n", mib_);
    measure();
    munmap(memory, sizeof(Shared));
    start_again();
    std::filesystem::remove_all(store_);
  }

 private:
  bench::ChildServer start() {
    const char* const program = getenv("IW_PROGRAM");
    return bench::ChildServer::listening({program ? program : "interweave", "serve", "--listen",
                                          "127.0.0.1:0", "--store", store_, "--quota", "16G"});
  }

  void measure() {
    const bench::ChildServer server = start();
    const std::string address = server.address();
    std::vector<pid_t> children;
    children.push_back(begin([&] { write_large(address, mib_, *shared_); }));
    while (!shared_->is_filled) usleep(kPause_us);
    settle();
    children.push_back(begin([&] { probe(address, "/m", IW_MEMORY, shared_->memory); }));
    children.push_back(begin([&] { probe(address, "/s", IW_SYNCED, shared_->synced); }));
    sleep(1);
    const std::int64_t alone = now_ns();
    usleep(kAlone_ns / 1000);
    note_phase("alone", alone, now_ns());
    shared_->may_write = true;
    const std::int64_t writing = now_ns();
    const std::size_t before = bench::resident_bytes(server.pid());
    const std::int64_t appeared = wait_for(true);
    const int releases = shared_->releases;
    std::size_t most = before;
    while (is_saving()) {
      most = std::max(most, bench::resident_bytes(server.pid()));
      usleep(kPause_us);
    }
    const std::int64_t gone = now_ns();
    const double seconds = static_cast<double>(gone - appeared) / 1e9;
    note_phase("writer", writing, appeared - kSecond_ns);
    note_phase("checkpoint", appeared - kSecond_ns, gone);
    note("checkpoint_s", seconds);
    note("releases_a_second", (shared_->releases - releases) / seconds);
    note("server_more_mib", static_cast<double>(most - before) / 1048576);
    for (const pid_t each : children) {
      kill(each, SIGKILL);
      waitpid(each, nullptr, 0);
    }
  }

  // How long a start takes after a crash.
  void start_again() {
    const std::int64_t begin = now_ns();
    const bench::ChildServer server = start();
    note("start_s", static_cast<double>(now_ns() - begin) / 1e9);
  }

  // The file of the large segment's checkpoint is there and is not whole yet. The file of a small
  // segment has fewer bytes.
  bool is_saving() const {
    for (const auto& each : std::filesystem::directory_iterator(store_)) {
      std::error_code gone;
      const std::uintmax_t bytes = each.file_size(gone);
      if (gone) continue;
      const std::string name = each.path().filename();
      if (name.ends_with(".iwk.tmp") && bytes >= kLarge_file_bytes) return true;
    }
    return false;
  }

  std::int64_t wait_for(bool saving) const {
    for (const std::int64_t end = now_ns() + kPatience_ns; now_ns() < end;) {
      if (is_saving() == saving) return now_ns();
      usleep(kPause_us);
    }
    std::fprintf(stderr, "checkpoint: the server took no checkpoint\n");
    std::exit(1);
  }

  // Waits until the checkpoints of the filling are done.
  void settle() const {
    std::int64_t quiet_since = now_ns();
    while (now_ns() < quiet_since + 3 * kSecond_ns) {
      if (is_saving()) quiet_since = now_ns();
      usleep(kPause_us);
    }
  }

  void note_phase(const std::string& phase, std::int64_t from, std::int64_t to) {
    note_prober(phase + "_memory", shared_->memory, from, to);
    note_prober(phase + "_synced", shared_->synced, from, to);
  }

  void note_prober(const std::string& name, const Prober& prober, std::int64_t from,
                   std::int64_t to) {
    std::vector<double> found;
    for (int i = 0; i < prober.count; i++) {
      const Sample& each = prober.samples[i];
      if (each.at_ns >= from && each.at_ns < to) found.push_back(each.us);
    }
    if (found.empty()) return;
    std::sort(found.begin(), found.end());
    const auto at = [&](double part) {
      return found[static_cast<std::size_t>(part * static_cast<double>(found.size() - 1))];
    };
    note(name + "_p50_us", at(0.5));
    note(name + "_p99_us", at(0.99));
    note(name + "_max_us", at(1));
  }

  void note(const std::string& measure, double value) {
    std::printf("  %-28s %12.3f\n", measure.c_str(), value);
    std::fflush(stdout);
    csv_.row(bench::format("%d,%s,%.3f", mib_, measure.c_str(), value));
  }

  int mib_;
  bench::Csv& csv_;
  std::string store_;
  Shared* shared_ = nullptr;
};

}  // namespace

int main(int count, char** arguments) {
  std::vector<int> sizes{512};
  if (count > 1) sizes.clear();
  for (int i = 1; i < count; i++) sizes.push_back(std::atoi(arguments[i]));
  bench::Csv csv("checkpoint.csv", "mib,measure,value");
  for (const int each : sizes) Measurement(each, csv).run();
  csv.finish();
  return 0;
}
