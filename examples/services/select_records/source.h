// Where a worker has records from: the segments, or the data nodes over TCP.
#pragma once

#include <span>
#include <vector>

#include "select_records/data_set.h"

namespace select_records {

class Source {
 public:
  virtual ~Source() = default;
  // What will be read, in this order.
  virtual void announce(std::span<const Block> blocks) = 0;
  // `to` has the block's size.
  virtual void read(const Block& block, std::span<Record> to) = 0;
};

class SegmentSource final : public Source {
 public:
  explicit SegmentSource(const std::vector<Part>& parts) : parts_(parts) {}
  void announce(std::span<const Block>) override {}
  void read(const Block& block, std::span<Record> to) override;

 private:
  const std::vector<Part> parts_;
};

// Asks for all that is announced at once, so that the data nodes send while the worker looks.
class SocketSource final : public Source {
 public:
  explicit SocketSource(const std::vector<Part>& parts);
  ~SocketSource() override;
  void announce(std::span<const Block> blocks) override;
  void read(const Block& block, std::span<Record> to) override;

 private:
  std::vector<int> fds_;  // by part; -1: no such part
};

}  // namespace select_records
