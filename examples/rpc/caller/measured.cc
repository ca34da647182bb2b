#include "caller/measured.h"

#include <stdexcept>
#include <string>

#include "traffic.h"
#include "tree.h"

namespace stock {
namespace {

constexpr restock_order kOrder{5, 20};

double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

// Throws unless the measured call took effect.
template <typename Part>
void check(Part* root, std::size_t round, std::size_t parts, std::size_t sold,
           const receipt& done) {
  const Part* const one = *place_of(&root, first_sold(parts, round));
  if (done.ordered < sold || (one != nullptr && one->in_stock != kOrder.up_to)) {
    throw std::runtime_error("of " + std::to_string(sold) + " sold parts " +
                             std::to_string(done.ordered) + " were ordered, or are not seen");
  }
}

}  // namespace

std::uint64_t ByReference::bytes_now(std::uint64_t callee_traffic) const {
  return callee_.bytes() + traffic_of(stock_.segment()) + callee_traffic;
}

Cost ByReference::first_call(std::size_t parts) {
  const std::uint64_t bytes_before = bytes_now(0);
  iw::WriteLock lock(stock_.segment());
  stock_.plant(parts);
  return call_after(std::move(lock), parts, 0, bytes_before, Clock::now());
}

Cost ByReference::call(std::size_t parts, std::size_t round) {
  const std::uint64_t bytes_before = bytes_now(callee_traffic_);
  const auto begin = Clock::now();
  return call_after(iw::WriteLock(stock_.segment()), parts, round, bytes_before, begin);
}

Cost ByReference::call_after(iw::WriteLock lock, std::size_t parts, std::size_t round,
                             std::uint64_t bytes_before, Clock::time_point begin) {
  part* const root = stock_.root();
  const std::string mip = stock_.root_mip();
  const std::size_t sold = sell(root, parts, round);
  lock.release();
  const receipt done = callee_.restock(mip, kOrder);
  const iw::ReadLock seen = newest(stock_.segment());
  Cost cost{0, us_since(begin)};
  callee_traffic_ = done.traffic;
  cost.bytes = bytes_now(callee_traffic_) - bytes_before;
  check(root, round, parts, sold, done);
  return cost;
}

Cost ByCopy::call(std::size_t parts, std::size_t round) {
  const std::uint64_t bytes_before = callee_.bytes();
  const auto begin = Clock::now();
  const std::size_t sold = sell(parts_.get(), parts, round);
  const receipt done = callee_.restock_copy(parts_, kOrder);
  const Cost cost{callee_.bytes() - bytes_before, us_since(begin)};
  check(parts_.get(), round, parts, sold, done);
  return cost;
}

PartCopy planted_copy(std::size_t parts) {
  const auto make = [](int number) {
    const std::string name = "part " + std::to_string(number);
    return make_part_copy(number, 10, price_of(number), name.c_str()).release();
  };
  return PartCopy(make_tree(1, parts + 1, make));
}

}  // namespace stock
