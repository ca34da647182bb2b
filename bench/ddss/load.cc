// Is a cached version still the newest? Asked of a process whose threads are busy: by DDSS, and by
// a request over TCP that one of its threads answers. Writes ddss_load.csv:
// busy_threads,system,us,p99_us.
#include <arpa/inet.h>
#include <interweave/ddss.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>

#include "ddss/measures.h"

namespace bench {
namespace {

constexpr int checks = 1000;

int no_delay(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

struct Times {
  double median_us, p99_us;
};

// Of single checks.
template <typename Check>
Times time_checks(const Check& check) {
  std::vector<double> samples;
  for (int i = 0; i < checks; i++) {
    const auto begin = std::chrono::steady_clock::now();
    check();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    samples.push_back(took.count());
  }
  std::sort(samples.begin(), samples.end());
  return {samples[checks / 2], samples[checks * 99 / 100]};
}

void answer_versions(int listener, std::uint64_t version) {
  const int fd = no_delay(accept(listener, nullptr, nullptr));
  for (std::uint64_t known; read(fd, &known, sizeof known) == sizeof known;) {
    if (write(fd, &version, sizeof version) != sizeof version) break;
  }
  close(fd);
}

int connect_to(int port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  const int fd = no_delay(socket(AF_INET, SOCK_STREAM, 0));
  if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) fail("connect");
  return fd;
}

}  // namespace

// Says `listening PORT KEY ADDRESS`.
int run_loaded(int busy_threads) {
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> work{0};
  if (ddss_init(nullptr) != 0) fail("ddss_init");
  ddss_allocation_t how{};
  how.placement = DDSS_LOCAL;
  const ddss_key_t key = ddss_allocate(4096, DDSS_VERSION, &how);
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at);
  listen(listener, 1);
  getsockname(listener, reinterpret_cast<sockaddr*>(&at), &length);
  std::printf("listening %d %llu %s\n", ntohs(at.sin_port), static_cast<unsigned long long>(key),
              ddss_address());
  std::fflush(stdout);
  for (int i = 0; i < busy_threads; i++) {
    threads.emplace_back([&] {
      for (;;) work++;
    });
  }
  answer_versions(listener, 0);
  std::_Exit(0);
}

void measure_load() {
  Csv csv("ddss_load.csv", "busy_threads,system,us,p99_us");
  for (const int threads : {0, 1, 2, 4, 8, 16}) {
    const ChildServer loaded = target("loaded", "shm", std::to_string(threads));
    int port = 0, begin = 0;
    unsigned long long key = 0;
    std::sscanf(loaded.address().c_str(), "%d %llu %n", &port, &key, &begin);
    const std::string address = loaded.address().substr(static_cast<std::size_t>(begin));
    ddss_options_t options{};
    options.join = address.c_str();
    if (ddss_init(&options) != 0) fail("ddss_init");
    std::vector<char> data(4096);
    std::uint64_t version = 0;
    const Times ddss = time_checks([&] {
      if (ddss_get_if_newer(key, data.data(), data.size(), &version) < 0) fail("version check");
    });
    ddss_finish();
    const int fd = connect_to(port);
    const Times tcp = time_checks([&] {
      if (write(fd, &version, sizeof version) < 0 || read(fd, &version, sizeof version) < 0) {
        fail("version check");
      }
    });
    close(fd);
    std::printf(
        "%2d busy threads: version check by ddss %.3f us (p99 %.3f), by a TCP request %.1f us (p99 "
        "%.1f)\n",
        threads, ddss.median_us, ddss.p99_us, tcp.median_us, tcp.p99_us);
    std::fflush(stdout);
    csv.row(format("%d,interweave,%.4f,%.4f", threads, ddss.median_us, ddss.p99_us));
    csv.row(format("%d,tcp,%.4f,%.4f", threads, tcp.median_us, tcp.p99_us));
  }
  csv.finish();
}

}  // namespace bench
