// Shared by the measurements of containers.
#pragma once

#include <array>
#include <chrono>
#include <string>

#include "harness/child_server.h"
#include "harness/results.h"
#include "interweave/containers.hpp"

namespace bench {

using Numbers = iw::containers::Vector<std::int64_t>;

[[noreturn]] void fail(const std::string& what);

// This program in a role; it says `listening` and something when it is ready.
ChildServer in_role(const std::string& role, const std::string& argument = "");

// The median over batches of the time of one of `count` calls, in us.
template <typename Call>
double measure(int batches, int count, const Call& call) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> samples;
  for (int i = 0; i < count; i++) call();  // warms up
  for (int batch = 0; batch < batches; batch++) {
    const auto begin = Clock::now();
    for (int i = 0; i < count; i++) call();
    const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
    samples.push_back(took.count() / count);
  }
  return median(samples);
}

// Until whatever was called is in the readers' queues.
inline void await_answers(const iw::containers::WriterContainer<Numbers>& writer) {
  while (writer.statistics().readers_waited_for > 0) continue;
}

// containers.csv and the table on the screen.
class Table {
 public:
  // Until the first of so many readers, half of them, and the last had it, and the call itself.
  void rows(int readers, const std::string& transport, const char* mode, const char* system,
            const std::array<double, 4>& us);
  // Until the last of so many polling receivers' programs had seen it.
  void shown(int readers, const std::string& transport, const char* system, double us);
  void finish() { csv_.finish(); }

 private:
  Csv csv_{"containers.csv", "operation,readers,transport,mode,system,us"};
};

// The parts. Factory and name server are there.
void measure_fan_out(iw::containers::Factory& factory, const std::string& transport, Table* table);
void measure_handler();
void measure_sizes(iw::containers::Factory& factory);
void measure_queues(iw::containers::Factory& factory);
int run_answerer(const std::string& argument);
int run_reader(const std::string& argument);

}  // namespace bench
