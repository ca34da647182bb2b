// Round trips of Active Messages compared with those of the bare transport library, on shared
// memory and TCP, while the processes poll and while they sleep. The systems take turns, each time
// in two new processes.
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "am/peers.h"
#include "harness/results.h"

namespace bench {

void fail(const std::string& what) {
  std::fprintf(stderr, "bench_am: %s\n", what.c_str());
  std::_Exit(1);
}

void Line::say(const std::vector<char>& bytes) const {
  if (send(fd_, bytes.data(), bytes.size(), 0) < 0) fail("the other process is gone");
}

std::vector<char> Line::hear() const {
  std::vector<char> bytes(1 << 16);
  pollfd one{fd_, POLLIN, 0};
  const ssize_t count = poll(&one, 1, 60000) == 1 ? recv(fd_, bytes.data(), bytes.size(), 0) : 0;
  if (count <= 0) fail("the other process says nothing");
  bytes.resize(static_cast<std::size_t>(count));
  return bytes;
}

namespace {

struct System {
  const char* name;
  double (*ask)(const Case&, const Line&);
  void (*answer)(const Case&, const Line&);
};
constexpr System systems[] = {{"interweave", &ask_by_interweave, &answer_by_interweave},
                              {"ucx", &ask_by_ucx, &answer_by_ucx}};

template <typename Body>
pid_t in_child(const Body& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  body();
  std::_Exit(0);
}

double run(const System& system, const Case& measured) {
  int way[2], result[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, way) != 0 || pipe(result) != 0) fail("no sockets");
  const pid_t answering = in_child([&] { system.answer(measured, Line(way[1])); });
  const pid_t asking = in_child([&] {
    const double us = system.ask(measured, Line(way[0]));
    if (write(result[1], &us, sizeof us) != sizeof us) fail("no result");
  });
  close(result[1]);
  double us = 0;
  if (read(result[0], &us, sizeof us) != sizeof us) fail("a process failed");
  kill(answering, SIGKILL);
  for (const pid_t child : {asking, answering}) waitpid(child, nullptr, 0);
  for (const int fd : {way[0], way[1], result[0]}) close(fd);
  return us;
}

Case make_case(const char* transport, std::size_t bytes, bool is_blocking) {
  if (is_blocking) return {transport, bytes, is_blocking, 40, 10};
  return {transport, bytes, is_blocking, 200, std::string(transport) == "shm" ? 200 : 20};
}

void compare(const Case& measured, Csv* csv) {
  constexpr int turns = 5;
  std::map<std::string, std::vector<double>> samples;
  for (int turn = 0; turn < turns; turn++) {
    for (const System& system : systems) samples[system.name].push_back(run(system, measured));
  }
  const char* mode = measured.is_blocking ? "blocking" : "polling";
  for (const System& system : systems) {
    csv->row(format("roundtrip,%zu,%s,%s,%s,%.3f", measured.bytes, measured.transport.c_str(), mode,
                    system.name, median(samples[system.name])));
  }
  const double ours = median(samples["interweave"]), bare = median(samples["ucx"]);
  std::printf("%-4s %-9s %6zu bytes  interweave %8.3f us  ucx %8.3f us  %.2fx\n",
              measured.transport.c_str(), mode, measured.bytes, ours, bare, ours / bare);
}

}  // namespace
}  // namespace bench

int main() {
  bench::Csv csv("am.csv", "operation,bytes,transport,mode,system,us");
  for (const char* transport : {"shm", "tcp"}) {
    for (const bool is_blocking : {false, true}) {
      for (const std::size_t bytes : {32, 1024, 8192}) {
        bench::compare(bench::make_case(transport, bytes, is_blocking), &csv);
      }
    }
  }
  csv.finish();
}
