// The same call by reference and by copy, with what each takes: bytes of all connections that take
// part in it, and the time until the caller has the result in its own memory. Before a call
// something is sold; the callee orders it again.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "caller/callee.h"
#include "caller/part_copy.h"
#include "caller/stock_segment.h"

namespace stock {

using Clock = std::chrono::steady_clock;

struct Cost {
  std::uint64_t bytes = 0;
  double us = 0;
};

class ByReference {
 public:
  ByReference(StockSegment& stock, Callee& callee) : stock_(stock), callee_(callee) {}

  // The cost of a call with a structure that only this process has had so far. The cost of sharing
  // it counts, from the release of the lock under which the structure was made.
  Cost first_call(std::size_t parts);
  // The cost of a call with a structure that is shared already.
  Cost call(std::size_t parts, std::size_t round);

 private:
  // What has travelled, with what the callee said of its own.
  std::uint64_t bytes_now(std::uint64_t callee_traffic) const;
  // Sells and calls; `lock` is released in between.
  Cost call_after(iw::WriteLock lock, std::size_t parts, std::size_t round,
                  std::uint64_t bytes_before, Clock::time_point begin);

  StockSegment& stock_;
  Callee& callee_;
  std::uint64_t callee_traffic_ = 0;  // as the callee said last
};

class ByCopy {
 public:
  ByCopy(Callee& callee, PartCopy parts) : callee_(callee), parts_(std::move(parts)) {}

  Cost call(std::size_t parts, std::size_t round);

 private:
  Callee& callee_;
  PartCopy parts_;
};

// Copies of the parts that StockSegment::plant makes.
PartCopy planted_copy(std::size_t parts);

}  // namespace stock
