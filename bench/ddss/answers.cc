// How long a page of 4 KiB takes over TCP from a process that makes short calls of its own now and
// then: each polls the worker that answers others, and must not keep them waiting for long after
// it. Writes ddss_answers.csv: own_call_every_us,us,p99_us,max_us (0: it makes none).
#include <interweave/ddss.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "ddss/measures.h"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;

constexpr std::size_t page_bytes = 4096;
constexpr std::chrono::milliseconds run_time{1000};

void check(int result) {
  if (result != 0) fail(ddss_error_text(result));
}

ddss_key_t allocate(const char* name, std::size_t bytes, int node) {
  ddss_allocation_t how{};
  how.name = name;
  how.placement = DDSS_NODE;
  how.node = node;
  const ddss_key_t key = ddss_allocate(bytes, DDSS_NULL, &how);
  if (key == 0) fail(ddss_error_text(ddss_errno()));
  return key;
}

}  // namespace

// Its own calls get eight bytes from the node that asks it.
int run_answering(int own_call_every_us) {
  check(ddss_init(nullptr));
  std::printf("listening %s\n", ddss_address());
  std::fflush(stdout);
  if (own_call_every_us == 0) pause();
  check(ddss_await_nodes(2));
  const ddss_key_t theirs = allocate("of the asking node", 8, 1);
  std::uint64_t got = 0;
  // The asking node ends first.
  for (auto next = Clock::now(); ddss_get(theirs, &got, sizeof got) == 0;) {
    next += std::chrono::microseconds(own_call_every_us);
    std::this_thread::sleep_until(next);
  }
  pause();
  return 0;
}

void measure_answers() {
  Csv csv("ddss_answers.csv", "own_call_every_us,us,p99_us,max_us");
  for (const int every_us : {0, 5000, 1000, 300}) {
    const ChildServer other = target("answering", "tcp", std::to_string(every_us));
    ddss_options_t options{};
    options.join = other.address().c_str();
    check(ddss_init(&options));
    const ddss_key_t page = allocate("page", page_bytes, 0);
    std::vector<char> data(page_bytes);
    std::vector<double> samples;
    for (const auto end = Clock::now() + run_time; Clock::now() < end;) {
      const auto begin = Clock::now();
      check(ddss_get(page, data.data(), data.size()));
      samples.push_back(Microseconds(Clock::now() - begin).count());
    }
    check(ddss_finish());
    std::sort(samples.begin(), samples.end());
    const double p99_us = samples[samples.size() * 99 / 100];
    std::printf("own call every %4d us: a page of 4 KiB %.1f us (p99 %.1f, at most %.1f)\n",
                every_us, median(samples), p99_us, samples.back());
    std::fflush(stdout);
    csv.row(format("%d,%.4f,%.4f,%.4f", every_us, median(samples), p99_us, samples.back()));
  }
  csv.finish();
}

}  // namespace bench
