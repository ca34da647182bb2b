// Writer sections a second of 1, 8 or 64 processes. Each process locks a segment of its own,
// changes one number and releases. The rivals are as many processes that SET a key of Redis. Both
// servers keep all in memory, or answer once the change is on disk (IW_SYNCED, appendfsync always).
// Sections that change nothing follow, and two processes that take turns on one segment. Writes
// locks.csv: store,writers,system,a_second.
//   bench_locks [SECONDS [memory|synced WRITERS]]   of these alone
#include <hiredis/hiredis.h>
#include <interweave.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/child_server.h"
#include "harness/results.h"
#include "harness/segment.h"
#include "harness/two_processes.h"

namespace {

using bench::ChildServer;
using bench::fail;

constexpr int kRounds = 5;
constexpr int kMostWriters = 64;

// Shared by the processes.
struct Board {
  std::atomic<int> ready{0};
  std::atomic<bool> runs{false};
  std::atomic<bool> ends{false};
  std::atomic<std::uint64_t> sections[kMostWriters];
};

// One section of a process. It is made in that process, which tells its number.
using Section = std::function<void()>;
using Begin = std::function<Section(int)>;

void write_until_the_end(Board& board, int number, const Begin& begin) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const Section section = begin(number);
  for (int i = 0; i < 10; ++i) section();
  ++board.ready;
  while (!board.runs) usleep(1000);
  while (!board.ends) {
    section();
    board.sections[number].fetch_add(1, std::memory_order_relaxed);
  }
  _exit(0);
}

std::uint64_t total(const Board& board) {
  std::uint64_t sum = 0;
  for (const std::atomic<std::uint64_t>& one : board.sections) sum += one;
  return sum;
}

// Sections a second of all writers together.
double rate(int writers, double seconds, const Begin& begin) {
  void* const memory =
      mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("mmap");
  Board& board = *new (memory) Board;
  for (int i = 0; i < writers; ++i) {
    if (fork() == 0) write_until_the_end(board, i, begin);
  }
  while (board.ready < writers) usleep(1000);
  board.runs = true;
  usleep(100'000);
  const std::uint64_t before = total(board);
  const std::int64_t from_ns = bench::now_ns();
  usleep(static_cast<useconds_t>(seconds * 1e6));
  const double done = static_cast<double>(total(board) - before);
  const double took_s = static_cast<double>(bench::now_ns() - from_ns) / 1e9;
  board.ends = true;
  bool is_good = true;
  for (int i = 0; i < writers; ++i) {
    int status = 0;
    wait(&status);
    is_good = is_good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  if (!is_good) fail("a writer failed");
  munmap(memory, sizeof(Board));
  return done / took_s;
}

// ---- the systems ----

// A segment with one number; made if it is not there.
double* number_in(IW_handle_t segment) {
  if (IW_wl_acquire(segment) != 0) fail("writer lock");
  auto* number = static_cast<double*>(IW_malloc(segment, IW_double));
  if (number == nullptr) fail("malloc");
  if (IW_wl_release(segment) != 0) fail("release");
  return number;
}

Begin writes_of(const std::string& address, int durability) {
  return [address, durability](int) -> Section {
    const std::string url = address + "/own-" + std::to_string(getpid());
    const IW_handle_t segment = bench::open_segment(url, durability);
    double* const value = number_in(segment);
    return [segment, value] {
      if (IW_wl_acquire(segment) != 0) fail("writer lock");
      *value += 1;
      if (IW_wl_release(segment) != 0) fail("release");
    };
  };
}

Begin looks_of(const std::string& address) {
  return [address](int) -> Section {
    const IW_handle_t segment = bench::open_segment(address + "/looked-at", IW_MEMORY);
    return [segment] {
      if (IW_wl_acquire(segment) != 0) fail("writer lock");
      if (IW_wl_release(segment) != 0) fail("release");
    };
  };
}

// All processes write the same segment.
Begin turns_of(const std::string& address) {
  return [address](int) -> Section {
    const IW_handle_t segment = bench::open_segment(address + "/turns", IW_MEMORY);
    return [segment] {
      if (IW_wl_acquire(segment) != 0) fail("writer lock");
      void* block = IW_next_block(segment, nullptr);
      if (block == nullptr) block = IW_malloc(segment, IW_double);
      if (block == nullptr) fail("malloc");
      *static_cast<double*>(block) += 1;
      if (IW_wl_release(segment) != 0) fail("release");
    };
  };
}

Begin sets_of(const std::string& address) {
  return [address](int number) -> Section {
    redisContext* const redis = redisConnectUnix(address.c_str());
    if (redis == nullptr || redis->err != 0) fail("redis");
    return [redis, number, value = 0.0]() mutable {
      value += 1;
      auto* const reply = static_cast<redisReply*>(
          redisCommand(redis, "SET key-%d %b", number, &value, sizeof value));
      if (reply == nullptr || reply->type == REDIS_REPLY_ERROR) fail("redis");
      freeReplyObject(reply);
    };
  };
}

// ---- the measurement ----

// Medians of rounds, the systems by turns.
void compare(const char* store, int writers, double seconds, const Begin& ours, const Begin& theirs,
             bench::Csv& csv) {
  std::vector<double> our_rates, their_rates;
  for (int round = 0; round < kRounds; ++round) {
    our_rates.push_back(rate(writers, seconds, ours));
    their_rates.push_back(rate(writers, seconds, theirs));
  }
  const double our_rate = bench::median(our_rates);
  const double their_rate = bench::median(their_rates);
  std::printf("%-8s %3d writers  %9.0f a second, Redis %9.0f, ratio %.2f\n", store, writers,
              our_rate, their_rate, our_rate / their_rate);
  csv.row(bench::format("%s,%d,interweave,%.0f", store, writers, our_rate));
  csv.row(bench::format("%s,%d,redis,%.0f", store, writers, their_rate));
}

void measure_alone(const char* what, int writers, double seconds, const Begin& begin,
                   bench::Csv& csv) {
  std::vector<double> rates;
  for (int round = 0; round < kRounds; ++round) rates.push_back(rate(writers, seconds, begin));
  const double one = bench::median(rates);
  std::printf("%-8s %3d writers  %9.0f a second\n", what, writers, one);
  csv.row(bench::format("%s,%d,interweave,%.0f", what, writers, one));
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  const std::string_view chosen_store = argc > 3 ? argv[2] : "";
  const int chosen_writers = argc > 3 ? std::atoi(argv[3]) : 0;
  bench::Csv csv("locks.csv", "store,writers,system,a_second");
  for (const bool is_synced : {false, true}) {
    const char* const store = is_synced ? "synced" : "memory";
    if (!chosen_store.empty() && chosen_store != store) continue;
    const ChildServer server = ChildServer::interweave("127.0.0.1:0", is_synced);
    const ChildServer redis = ChildServer::redis(is_synced);
    const Begin ours = writes_of(server.address(), is_synced ? IW_SYNCED : IW_MEMORY);
    for (const int writers : {1, 8, kMostWriters}) {
      if (chosen_writers != 0 && chosen_writers != writers) continue;
      compare(store, writers, seconds, ours, sets_of(redis.address()), csv);
    }
    if (is_synced || chosen_writers != 0) continue;
    measure_alone("nothing", 1, seconds, looks_of(server.address()), csv);
    measure_alone("turns", 2, seconds, turns_of(server.address()), csv);
  }
  csv.finish();
  return 0;
}
