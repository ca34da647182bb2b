#include "copy/owned_cycles.h"

#include <algorithm>
#include <utility>

#include "copy/owned_fields.h"

namespace iw::copy {

using memory::Block;

void OwnedCycles::follow(const Block& block) {
  if (marks_.contains(block.serial)) return;
  enter(block);
  while (!path_.empty()) {
    Frame& frame = path_.back();
    if (frame.next == frame.children.size()) {
      leave();
      continue;
    }
    const Block& child = frame.children[frame.next++];
    ++steps_;
    if (const auto known = marks_.find(child.serial); known == marks_.end()) {
      enter(Block(child));  // the frame may move
    } else if (known->second.is_open) {
      frame.mark->lowest = std::min(frame.mark->lowest, known->second.order);
    }
  }
}

void OwnedCycles::enter(const Block& block) {
  Mark& mark = marks_[block.serial];
  mark.order = mark.lowest = marks_.size();
  open_.push_back(&mark);
  Frame frame{&mark, {}, 0};
  if (has_owned_fields(*block.type)) {
    const types::Step array = types::array_step(*block.type, block.count);
    (void)for_each_owned(array, 0, array.end_unit(), block.address, 0,
                         [&](std::size_t, void* value) {
                           Block found;
                           if (heap_.find_at(value, found)) frame.children.push_back(found);
                         });
  }
  path_.push_back(std::move(frame));
}

void OwnedCycles::leave() {
  const Mark& done = *path_.back().mark;
  const std::size_t lowest = done.lowest;
  if (lowest == done.order) {
    // All that became open after it leads back to it.
    while (open_.back()->order > done.order) {
      open_.back()->lowest = lowest;
      open_.back()->is_open = false;
      open_.pop_back();
    }
    open_.back()->is_open = false;
    open_.pop_back();
  }
  path_.pop_back();
  if (!path_.empty()) path_.back().mark->lowest = std::min(path_.back().mark->lowest, lowest);
}

bool OwnedCycles::contain_each_other(std::uint64_t one, std::uint64_t other) const {
  if (one == other) return true;
  const auto first = marks_.find(one);
  const auto second = marks_.find(other);
  return first != marks_.end() && second != marks_.end() &&
         first->second.lowest == second->second.lowest;
}

}  // namespace iw::copy
