// The cost of very many segments for a client that uses one. A store has 100, 10,000 or 100,000
// small segments. Two clients measure lock and release of a segment each, one MEMORY and one
// SYNCED. They measure alone, then while programs ask for /status all the time, then while a writer
// fills the log. The server's stop and start are measured after that. Writes segments.csv:
// segments,measure,value. The rival is the same server with 100 segments.
//   bench_segments [SEGMENTS...]
#include <arpa/inet.h>
#include <fcntl.h>
#include <interweave.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/child_server.h"
#include "harness/results.h"
#include "harness/segment.h"
#include "harness/two_processes.h"

namespace {

using bench::fail;
using bench::now_ns;

constexpr int kFillers = 2;
constexpr std::int64_t kProbe_ns = 5'000'000'000;
constexpr useconds_t kPause_us = 1000;
constexpr int kAskers = 4;
constexpr int kReleases = 320;
constexpr std::size_t kReleaseInts = 262144;  // 1 MiB

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}

// A child of this process, which never uses the library itself. Ended by its pipe or by a signal.
class Child {
 public:
  // `run` gets the end of a pipe on which it may write lines.
  explicit Child(const std::function<void(std::FILE*)>& run) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) give_up("pipe");
    pid_ = fork();
    if (pid_ < 0) give_up("fork");
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      std::FILE* const out = fdopen(ends[1], "w");
      run(out);
      std::fclose(out);
      _exit(0);
    }
    close(ends[1]);
    lines_ = fdopen(ends[0], "r");
  }
  Child(const Child&) = delete;
  ~Child() {
    std::fclose(lines_);
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  // The next line that it wrote; without one the benchmark ends.
  std::string line() {
    char text[256];
    if (std::fgets(text, sizeof text, lines_) == nullptr) {
      std::fprintf(stderr, "segments: a child ended too early\n");
      std::exit(1);
    }
    return std::string(text, std::strcspn(text, "\n"));
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  std::FILE* lines_ = nullptr;
};

void say(std::FILE* out, const std::string& line) {
  std::fprintf(out, "%s\n", line.c_str());
  std::fflush(out);
}

int* first_ints(IW_handle_t segment, std::size_t count) {
  if (IW_wl_acquire(segment) != 0) fail("writer lock");
  auto* const ints = static_cast<int*>(IW_malloc_array(segment, IW_int, count, "ints"));
  if (ints == nullptr) fail("malloc");
  if (IW_wl_release(segment) != 0) fail("release");
  return ints;
}

// Makes its part of the segments and keeps them open.
void fill(const std::string& server, int part, int segments, std::FILE* out) {
  for (int i = part; i < segments; i += kFillers) {
    first_ints(bench::open_segment(server + "/small/" + std::to_string(i), IW_WRITTEN), 16);
  }
  say(out, "done");
  pause();
}

struct Latency {
  double p50_us = 0, p99_us = 0, max_us = 0;
};

Latency parse_latency(const std::string& line) {
  Latency found;
  std::sscanf(line.c_str(), "%lf %lf %lf", &found.p50_us, &found.p99_us, &found.max_us);
  return found;
}

// Lock, a change and release of a segment of its own, with a pause after each; a line for each
// phase.
void probe(const std::string& server, int durability, std::FILE* out) {
  const std::string path = durability == IW_SYNCED ? "/probe-synced" : "/probe";
  const IW_handle_t segment = bench::open_segment(server + path, durability);
  int* const ints = first_ints(segment, 16);
  for (;;) {
    std::vector<double> samples;
    for (const std::int64_t end = now_ns() + kProbe_ns; now_ns() < end;) {
      const std::int64_t begin = now_ns();
      if (IW_wl_acquire(segment) != 0) fail("writer lock");
      ints[0]++;
      if (IW_wl_release(segment) != 0) fail("release");
      samples.push_back(static_cast<double>(now_ns() - begin) / 1e3);
      usleep(kPause_us);
    }
    std::sort(samples.begin(), samples.end());
    const auto at = [&](double part) {
      return samples[static_cast<std::size_t>(part * static_cast<double>(samples.size() - 1))];
    };
    say(out, bench::format("%f %f %f", at(0.5), at(0.99), at(1)));
  }
}

// Two clients that probe at the same time.
class Probers {
 public:
  explicit Probers(const std::string& server)
      : memory_([&](std::FILE* out) { probe(server, IW_MEMORY, out); }),
        synced_([&](std::FILE* out) { probe(server, IW_SYNCED, out); }) {}
  // The times of both in the phase that ends next: MEMORY, SYNCED.
  std::pair<Latency, Latency> next() {
    const Latency memory = parse_latency(memory_.line());
    return {memory, parse_latency(synced_.line())};
  }

 private:
  Child memory_, synced_;
};

// The port of `interweave serve` for HTTP.
int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof at;
  auto* const address = reinterpret_cast<sockaddr*>(&at);
  if (bind(fd, address, bytes) != 0 || getsockname(fd, address, &bytes) != 0) give_up("a port");
  close(fd);
  return ntohs(at.sin_port);
}

// Asks for /status again and again, without a token.
void ask(int port, std::FILE* out) {
  const std::string request =
      "GET /status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  bool has_answer = false;
  for (;;) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(static_cast<std::uint16_t>(port));
    if (connect(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) give_up("connect");
    if (write(fd, request.data(), request.size()) < 0) give_up("write");
    char answer[65536];
    ssize_t bytes = 0;
    while ((bytes = read(fd, answer, sizeof answer)) > 0) {
      if (!has_answer && std::strncmp(answer, "HTTP/1.1 200", 12) == 0) {
        has_answer = true;
        say(out, "answered");
      }
    }
    close(fd);
  }
}

// Writes so much that the log must be cut again and again; a line when the first part is done.
void write_much(const std::string& server, std::FILE* out) {
  const IW_handle_t segment = bench::open_segment(server + "/large", IW_WRITTEN);
  int* const ints = first_ints(segment, kReleaseInts);
  const std::int64_t begin = now_ns();
  for (int round = 1;; round++) {
    if (IW_wl_acquire(segment) != 0) fail("writer lock");
    std::fill(ints, ints + kReleaseInts, round);
    if (IW_wl_release(segment) != 0) fail("release");
    if (round == kReleases) {
      say(out, bench::format("%f", static_cast<double>(now_ns() - begin) / 1e9));
    }
  }
}

class Measurement {
 public:
  Measurement(int segments, bench::Csv& csv) : segments_(segments), csv_(csv) {}

  void run() {
    char name[] = "/var/tmp/interweave-bench.XXXXXX";
    if (mkdtemp(name) == nullptr) give_up("a folder");
    store_ = name;
    std::printf("%d segments\n", segments_);
    {
      bench::ChildServer server = start();
      measure(server);
      stop(server.pid());
    }
    const std::int64_t begin = now_ns();
    {
      const bench::ChildServer server = start();
      note("start_s", static_cast<double>(now_ns() - begin) / 1e9);
    }
    std::filesystem::remove_all(store_);
  }

 private:
  bench::ChildServer start() {
    http_port_ = free_port();
    const char* const program = getenv("IW_PROGRAM");
    return bench::ChildServer::listening({program ? program : "interweave", "serve", "--listen",
                                          "127.0.0.1:0", "--http",
                                          "127.0.0.1:" + std::to_string(http_port_), "--store",
                                          store_, "--max-segments", "2000000", "--insecure"});
  }

  void measure(const bench::ChildServer& server) {
    const std::string address = server.address();
    const std::int64_t begin = now_ns();
    std::vector<std::unique_ptr<Child>> fillers;
    for (int part = 0; part < kFillers; part++) {
      fillers.push_back(
          std::make_unique<Child>([&](std::FILE* out) { fill(address, part, segments_, out); }));
    }
    for (const auto& each : fillers) each->line();
    note("create_s", static_cast<double>(now_ns() - begin) / 1e9);
    note("server_mib", static_cast<double>(bench::resident_bytes(server.pid())) / 1048576);
    note("client_mib", static_cast<double>(bench::resident_bytes(fillers[0]->pid())) / 1048576);
    fillers.clear();
    Probers probers(address);
    probers.next();  // the server forgets the sessions of those who made the segments
    phase("idle", probers);
    {
      std::vector<std::unique_ptr<Child>> askers;
      for (int i = 0; i < kAskers; i++) {
        askers.push_back(std::make_unique<Child>([&](std::FILE* out) { ask(http_port_, out); }));
        askers.back()->line();
      }
      probers.next();
      phase("status", probers);
    }
    probers.next();
    Child writer([&](std::FILE* out) { write_much(address, out); });
    probers.next();
    phase("full_log", probers);
    note("write_320_mib_s", std::stod(writer.line()));
  }

  void phase(const std::string& name, Probers& probers) {
    const auto [memory, synced] = probers.next();
    note_latency(name, memory);
    note_latency(name + "_synced", synced);
  }

  void note_latency(const std::string& name, const Latency& found) {
    note(name + "_p50_us", found.p50_us);
    note(name + "_p99_us", found.p99_us);
    note(name + "_max_us", found.max_us);
  }

  void stop(pid_t server) {
    const std::int64_t begin = now_ns();
    kill(server, SIGTERM);
    siginfo_t ended{};
    if (waitid(P_PID, static_cast<id_t>(server), &ended, WEXITED | WNOWAIT) != 0) give_up("wait");
    note("stop_s", static_cast<double>(now_ns() - begin) / 1e9);
  }

  void note(const std::string& measure, double value) {
    std::printf("  %-22s %12.3f\n", measure.c_str(), value);
    std::fflush(stdout);
    csv_.row(bench::format("%d,%s,%.3f", segments_, measure.c_str(), value));
  }

  int segments_;
  bench::Csv& csv_;
  std::string store_;
  int http_port_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
  std::vector<int> segments{100, 10000, 100000};
  if (count > 1) segments.clear();
  for (int i = 1; i < count; i++) segments.push_back(std::atoi(arguments[i]));
  bench::Csv csv("segments.csv", "segments,measure,value");
  for (const int each : segments) Measurement(each, csv).run();
  csv.finish();
  return 0;
}
