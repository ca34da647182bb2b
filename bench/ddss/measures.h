// Shared by the measurements of get and put: the table, the clock, the other process.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "harness/child_server.h"
#include "harness/results.h"

namespace bench {

[[noreturn]] void fail(const std::string& what);

struct Case {
  std::string transport;  // shm or tcp
  bool is_blocking;
  const char* mode() const { return is_blocking ? "blocking" : "polling"; }
};

// ddss.csv and the table on the screen.
class Table {
 public:
  void row(const char* operation, const char* model, std::size_t bytes, const Case& measured,
           const char* system, double us);
  void finish() { csv_.finish(); }

 private:
  Csv csv_{"ddss.csv", "operation,model,bytes,transport,mode,system,us"};
};

// This program in a role, over a transport.
ChildServer target(const std::string& role, const std::string& transport,
                   const std::string& argument = "");

// The median over batches of a call's time, in us. A batch is short beside a time slice, so that
// most are not interrupted where others use the processors, and as long whatever is called.
template <typename Call>
double measure(const Call& call) {
  using Clock = std::chrono::steady_clock;
  using Microseconds = std::chrono::duration<double, std::micro>;
  constexpr int batches = 301, batches_min = 7;
  constexpr double batch_us = 150, whole_us = 400'000;
  const auto time = [&](int calls) {
    const auto begin = Clock::now();
    for (int i = 0; i < calls; i++) call();
    return Microseconds(Clock::now() - begin).count() / calls;
  };
  double us = time(20);  // warms up
  double spent_us = 0;
  std::vector<double> samples;
  for (int batch = 0; batch < batches; batch++) {
    if (batch >= batches_min && spent_us > whole_us) break;
    const int calls = std::max(1, static_cast<int>(batch_us / std::max(us, 0.01)));
    us = time(calls);
    spent_us += us * calls;
    samples.push_back(us);
  }
  return median(samples);
}

inline const std::vector<std::size_t> sizes{1, 8, 64, 1024, 65536, 1 << 20};

// The parts. Roles are run in a process of their own.
void measure_models(const Case& measured, Table* table);
void measure_ucx(const Case& measured, Table* table);
// One get's time under the null model, with a target of its own.
double ddss_get_us(const Case& measured, std::size_t bytes);
double ucx_get_us(const Case& measured, std::size_t bytes);
void measure_redis(Table* table);
void measure_memcached(Table* table);
void measure_load();
void measure_clients();
void measure_answers();
void measure_gets();
int run_node();
int run_loaded(int busy_threads);
int run_answering(int own_call_every_us);
int run_client(int argc, char** argv);
int run_ucx(const std::string& transport, bool is_blocking);

}  // namespace bench
