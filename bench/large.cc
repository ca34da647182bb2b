// Large segments: the rates at which a release brings doubles to the server, and a reader without a
// copy gets them. The writer fills a block, and rewrites all of it; a new reader opens the segment
// after each release. Another client measures lock and release of a small segment meanwhile, and
// alone. The rival is raw TCP: a process sends as many bytes to another, into memory that is new at
// first, as a new reader's is, and used before later. Each server keeps all in memory, or writes it
// to its log. Writes large.csv: server,mib,measure,value.
//   bench_large [MIB...]
#include <interweave.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "harness/child_server.h"
#include "harness/results.h"
#include "harness/segment.h"
#include "harness/socket_pair.h"
#include "harness/two_processes.h"

namespace {

using bench::fail;
using bench::now_ns;

constexpr int kReleases = 3;  // the first fills new memory everywhere
constexpr std::size_t kMib_doubles = 131072;
constexpr std::size_t kMost_samples = 1 << 16;
constexpr useconds_t kPause_us = 1000;
constexpr useconds_t kAlone_us = 2'000'000;

struct Sample {
  std::int64_t at_ns;
  double us;
};

// The children and this process share it.
struct Shared {
  sem_t may_read, has_read, may_probe;
  std::atomic<std::int64_t> read_ns;  // the last reader's; 0: it failed
  double best_release_ns, best_read_ns;
  std::int64_t alone_ns, begun_ns, ended_ns;
  std::atomic<std::size_t> samples;
  Sample sample[kMost_samples];
};

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}

void wait_for(sem_t& semaphore) {
  while (sem_wait(&semaphore) != 0) {
    if (errno != EINTR) give_up("sem_wait");
  }
}

// A child that ends with this process, at the latest.
class Child {
 public:
  explicit Child(const std::function<void()>& run) : pid_(fork()) {
    if (pid_ < 0) give_up("fork");
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    run();
    _exit(0);
  }
  // A child that failed ends this process, too.
  void join() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    if (status != 0) std::exit(1);
  }
  ~Child() {
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

 private:
  pid_t pid_;
};

// MB/s of a send to a process whose memory for it is new, and of the best later one.
std::pair<double, double> rates_of_tcp(std::size_t bytes) {
  int ends[2];
  bench::tcp_pair(ends);
  const Child receiver([&] {
    const std::unique_ptr<char[]> into(new char[bytes]);
    for (int round = 0; round < kReleases; round++) {
      bench::read_all(ends[1], into.get(), bytes);
      bench::write_all(ends[1], "!", 1);
    }
  });
  const std::vector<char> from(bytes, 1);
  std::vector<double> rates;
  for (int round = 0; round < kReleases; round++) {
    const std::int64_t begun = now_ns();
    bench::write_all(ends[0], from.data(), bytes);
    char answer;
    bench::read_all(ends[0], &answer, 1);
    rates.push_back(static_cast<double>(bytes) * 1e3 / static_cast<double>(now_ns() - begun));
  }
  close(ends[0]);
  close(ends[1]);
  return {rates.front(), *std::max_element(rates.begin() + 1, rates.end())};
}

double number_of_round(int round, std::size_t i) {
  return round + 1 + 0.25 * static_cast<double>(i);
}

void read_each(const std::string& url, std::size_t doubles, Shared& shared) {
  for (int round = 0; round < kReleases; round++) {
    wait_for(shared.may_read);
    // a process that has no copy
    const pid_t reader = fork();
    if (reader < 0) give_up("fork");
    if (reader == 0) {
      const std::int64_t begun = now_ns();
      const IW_handle_t segment = bench::open_segment(url);
      if (IW_rl_acquire(segment) != 0) fail("reader lock");
      shared.read_ns = now_ns() - begun;
      const auto* const got = static_cast<const double*>(IW_mip_to_ptr((url + "#numbers").c_str()));
      if (got == nullptr) fail("the block");
      for (std::size_t i = 0; i < doubles; i++) {
        if (got[i] == number_of_round(round, i)) continue;
        std::fprintf(stderr, "large: the reader has wrong numbers\n");
        _exit(1);
      }
      _exit(0);
    }
    int status = 0;
    waitpid(reader, &status, 0);
    if (status != 0) shared.read_ns = 0;
    sem_post(&shared.has_read);
  }
}

void probe(const std::string& url, Shared& shared) {
  wait_for(shared.may_probe);
  const IW_handle_t segment = bench::open_segment(url);
  if (IW_wl_acquire(segment) != 0) fail("writer lock");
  auto* const ints = static_cast<int*>(IW_malloc_array(segment, IW_int, 16, "ints"));
  if (ints == nullptr) fail("malloc");
  if (IW_wl_release(segment) != 0) fail("release");
  while (shared.samples < kMost_samples) {
    const std::int64_t begun = now_ns();
    if (IW_wl_acquire(segment) != 0) fail("writer lock");
    ints[0]++;
    if (IW_wl_release(segment) != 0) fail("release");
    shared.sample[shared.samples] = {begun, static_cast<double>(now_ns() - begun) / 1e3};
    shared.samples++;
    usleep(kPause_us);
  }
}

// The most memory that a process ever had.
double most_mib(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::string word;
  double kib = 0;
  while (status >> word) {
    if (word == "VmHWM:") status >> kib;
  }
  return kib / 1024;
}

class Measurement {
 public:
  Measurement(bool is_stored, std::size_t mib, bench::Csv& csv)
      : is_stored_(is_stored), mib_(mib), doubles_(mib * kMib_doubles), csv_(csv) {}

  void run() {
    std::printf("%s, %zu MiB\n", name(), mib_);
    void* const memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) give_up("memory");
    shared_ = new (memory) Shared;
    for (sem_t* each : {&shared_->may_read, &shared_->has_read, &shared_->may_probe}) {
      sem_init(each, 1, 0);
    }
    const auto [new_rate, best_rate] = rates_of_tcp(mib_ << 20);
    note("tcp_new_memory_mb_s", new_rate);
    note("tcp_mb_s", best_rate);
    const std::string store = is_stored_ ? make_folder() : "memory";
    {
      const bench::ChildServer server = start(store);
      const std::string url = server.address() + "/large";
      const Child reader([&] { read_each(url, doubles_, *shared_); });
      const Child prober([&] { probe(server.address() + "/small", *shared_); });
      Child([&] { write(url); }).join();
      const double bytes = static_cast<double>(doubles_ * sizeof(double));
      note("release_mb_s", bytes * 1e3 / shared_->best_release_ns);
      note("reader_mb_s", bytes * 1e3 / shared_->best_read_ns);
      note("server_most_to_held", most_mib(server.pid()) / static_cast<double>(mib_));
    }
    note_others("alone", shared_->alone_ns, shared_->begun_ns);
    note_others("meanwhile", shared_->begun_ns, shared_->ended_ns);
    if (is_stored_) std::filesystem::remove_all(store);
    munmap(memory, sizeof(Shared));
  }

 private:
  const char* name() const { return is_stored_ ? "written" : "memory"; }

  static std::string make_folder() {
    char folder[] = "/var/tmp/interweave-bench.XXXXXX";
    if (mkdtemp(folder) == nullptr) give_up("a folder");
    return folder;
  }

  // On another loopback address clients use TCP, and find no token of the server's own.
  static bench::ChildServer start(const std::string& store) {
    const char* const program = getenv("IW_PROGRAM");
    return bench::ChildServer::listening({program ? program : "interweave", "serve", "--listen",
                                          "127.0.0.2:0", "--store", store, "--quota", "16G",
                                          "--insecure"});
  }

  int durability() const { return is_stored_ ? IW_WRITTEN : IW_MEMORY; }

  void write(const std::string& url) {
    const IW_handle_t segment = bench::open_segment(url, durability());
    sem_post(&shared_->may_probe);
    usleep(kAlone_us / 4);
    shared_->alone_ns = now_ns();
    usleep(kAlone_us);
    shared_->begun_ns = now_ns();
    double* numbers = nullptr;
    for (int round = 0; round < kReleases; round++) {
      if (IW_wl_acquire(segment) != 0) fail("writer lock");
      if (numbers == nullptr) {
        numbers = static_cast<double*>(IW_malloc_array(segment, IW_double, doubles_, "numbers"));
        if (numbers == nullptr) fail("malloc");
      }
      for (std::size_t i = 0; i < doubles_; i++) numbers[i] = number_of_round(round, i);
      const std::int64_t begun = now_ns();
      if (IW_wl_release(segment) != 0) fail("release");
      keep_best(shared_->best_release_ns, now_ns() - begun);
      sem_post(&shared_->may_read);
      wait_for(shared_->has_read);
      if (shared_->read_ns == 0) _exit(1);
      keep_best(shared_->best_read_ns, shared_->read_ns);
    }
    shared_->ended_ns = now_ns();
  }

  static void keep_best(double& best, std::int64_t ns) {
    const auto now = static_cast<double>(ns);
    best = best == 0 ? now : std::min(best, now);
  }

  void note_others(const std::string& phase, std::int64_t from, std::int64_t to) {
    std::vector<double> found;
    for (std::size_t i = 0; i < shared_->samples; i++) {
      const Sample& each = shared_->sample[i];
      if (each.at_ns >= from && each.at_ns < to) found.push_back(each.us);
    }
    if (found.empty()) return;
    std::sort(found.begin(), found.end());
    const auto at = [&](double part) {
      return found[static_cast<std::size_t>(part * static_cast<double>(found.size() - 1))];
    };
    note("others_" + phase + "_p50_us", at(0.5));
    note("others_" + phase + "_p99_us", at(0.99));
  }

  void note(const std::string& measure, double value) {
    std::printf("  %-28s %12.3f\n", measure.c_str(), value);
    std::fflush(stdout);
    csv_.row(bench::format("%s,%zu,%s,%.3f", name(), mib_, measure.c_str(), value));
  }

  const bool is_stored_;
  const std::size_t mib_;
  const std::size_t doubles_;
  bench::Csv& csv_;
  Shared* shared_ = nullptr;
};

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::size_t> sizes{16, 64, 256, 1024};
  if (count > 1) sizes.clear();
  for (int i = 1; i < count; i++) sizes.push_back(std::strtoul(arguments[i], nullptr, 10));
  bench::Csv csv("large.csv", "server,mib,measure,value");
  for (const std::size_t each : sizes) {
    for (const bool is_stored : {false, true}) Measurement(is_stored, each, csv).run();
  }
  csv.finish();
  return 0;
}
