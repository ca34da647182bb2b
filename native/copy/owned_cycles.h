// Finds the owned blocks that contain themselves. They are the strongly connected parts of the
// graph whose edges are the owning fields in the view (Tarjan's algorithm). Each block is examined
// once, however many questions there are. Nothing recurses, because chains may be as long as a
// segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "memory/heap.h"

namespace iw::copy {

class OwnedCycles {
 public:
  explicit OwnedCycles(const memory::Heap& heap) : heap_(heap) {}

  // Everything that the block's fields lead to becomes known.
  void follow(const memory::Block& block);
  // Whether each of two blocks contains the other. Followed blocks only; a block contains itself.
  [[nodiscard]] bool contain_each_other(std::uint64_t one, std::uint64_t other) const;
  // How many fields were followed.
  [[nodiscard]] std::size_t steps() const { return steps_; }

 private:
  struct Mark {
    std::size_t order = 0;   // of the first visit
    std::size_t lowest = 0;  // order of the earliest open block that it leads to; closed: its part
    bool is_open = true;     // it is not yet known with whom it is in one part
  };
  struct Frame {
    Mark* mark = nullptr;
    std::vector<memory::Block> children;
    std::size_t next = 0;
  };

  void enter(const memory::Block& block);
  void leave();

  const memory::Heap& heap_;
  std::unordered_map<std::uint64_t, Mark> marks_;  // by serial
  std::vector<Frame> path_;
  std::vector<Mark*> open_;
  std::size_t steps_ = 0;
};

}  // namespace iw::copy
