// The caller's stock: a segment whose block `root` is the root of the tree of parts.
#pragma once

#include <cstddef>
#include <functional>
#include <interweave.hpp>
#include <string>

#include "caller/part_copy.h"
#include "stock.hpp"

namespace stock {

class StockSegment {
 public:
  explicit StockSegment(const std::string& url);

  [[nodiscard]] const iw::Segment& segment() const { return segment_; }
  // What a call carries. Throws if nothing was planted.
  [[nodiscard]] std::string root_mip() const;
  // Under a lock.
  [[nodiscard]] part* root() const;
  // Makes a tree of that many parts; the caller holds the writer lock.
  void plant(std::size_t parts);
  // All parts in the order of their numbers, as of now: another process has just changed them.
  void each(const std::function<void(const part&)>& show) const;

  // For calls by copy; under a lock, and under the writer lock.
  [[nodiscard]] PartCopy copied() const;
  void take_over(const part_copy& from);

 private:
  iw::Segment segment_;
};

// A newest reader lock, whatever was announced so far: what a callee has released is seen.
iw::ReadLock newest(const iw::Segment& segment);

}  // namespace stock
