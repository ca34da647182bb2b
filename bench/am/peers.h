// Two processes that send each other messages: the systems that are compared, and their common
// parts.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "harness/results.h"

namespace bench {

struct Case {
  std::string transport;  // shm or tcp
  std::size_t bytes;
  bool is_blocking;
  int batches, rounds_a_batch;
};

// A connection of the two processes that is not measured.
class Line {
 public:
  explicit Line(int fd) : fd_(fd) {}
  void say(const std::vector<char>& bytes) const;
  std::vector<char> hear() const;

 private:
  int fd_;
};

[[noreturn]] void fail(const std::string& what);

// The median over batches of a round trip's time, in us. `round` makes one round trip.
template <typename Round>
double measure(const Case& measured, const Round& round) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> samples;
  for (int i = 0; i < measured.rounds_a_batch; i++) round();  // warms up
  for (int batch = 0; batch < measured.batches; batch++) {
    const auto begin = Clock::now();
    for (int i = 0; i < measured.rounds_a_batch; i++) round();
    const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
    samples.push_back(took.count() / measured.rounds_a_batch);
  }
  return median(samples);
}

// Each runs in a process of its own. The process that answers does so until it is killed.
double ask_by_ucx(const Case& measured, const Line& line);
void answer_by_ucx(const Case& measured, const Line& line);
double ask_by_interweave(const Case& measured, const Line& line);
void answer_by_interweave(const Case& measured, const Line& line);

}  // namespace bench
