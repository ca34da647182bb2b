// The computation that is checkpointed: heat along a rod, each process a piece of it. A cell's
// value after a step depends on its neighbours before, never on how the rod is cut, so that any
// number of processes gets the same bits. Needs no DDSS.
#pragma once

#include <cstdint>
#include <vector>

namespace checkpointed_run {

struct Range {
  std::uint64_t first, count;
};

// The piece of one of so many processes.
Range piece(std::uint64_t cells, std::uint64_t process, std::uint64_t processes);

class Rod {
 public:
  // As it is at the beginning.
  Rod(std::uint64_t cells, Range range);
  // As it was kept.
  Rod(std::uint64_t cells, Range range, std::vector<double> values);
  double first() const { return values_.front(); }
  double last() const { return values_.back(); }
  const std::vector<double>& values() const { return values_; }
  Range range() const { return range_; }
  // With the cells beside it; at the rod's ends they do not count.
  void step(double before, double after);
  // Those of all pieces add up to the same sum however the rod is cut.
  std::uint64_t checksum() const;

 private:
  std::uint64_t cells_;
  Range range_;
  std::vector<double> values_, next_;
};

}  // namespace checkpointed_run
