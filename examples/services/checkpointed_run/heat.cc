#include "checkpointed_run/heat.h"

#include <bit>

namespace checkpointed_run {
namespace {

constexpr double conductivity = 0.25;

std::uint64_t mixed(std::uint64_t number) {
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
  number = (number ^ number >> 27) * 0x94d049bb133111ebu;
  return number ^ number >> 31;
}

}  // namespace

Range piece(std::uint64_t cells, std::uint64_t process, std::uint64_t processes) {
  const std::uint64_t begin = cells * process / processes;
  return {begin, cells * (process + 1) / processes - begin};
}

Rod::Rod(std::uint64_t cells, Range range) : cells_(cells), range_(range), next_(range.count) {
  for (std::uint64_t i = 0; i < range.count; i++) {
    values_.push_back(static_cast<double>(mixed(range.first + i + 1) % 1000));
  }
}

Rod::Rod(std::uint64_t cells, Range range, std::vector<double> values)
    : cells_(cells), range_(range), values_(std::move(values)), next_(range.count) {}

void Rod::step(double before, double after) {
  for (std::size_t i = 0; i < values_.size(); i++) {
    const double left = i > 0 ? values_[i - 1] : before;
    const double right = i + 1 < values_.size() ? values_[i + 1] : after;
    const bool is_end = range_.first + i == 0 || range_.first + i + 1 == cells_;
    next_[i] = is_end ? values_[i] : values_[i] + conductivity * (left - 2 * values_[i] + right);
  }
  values_.swap(next_);
}

std::uint64_t Rod::checksum() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < values_.size(); i++) {
    sum += mixed(std::bit_cast<std::uint64_t>(values_[i]) ^ mixed(range_.first + i + 1));
  }
  return sum;
}

}  // namespace checkpointed_run
