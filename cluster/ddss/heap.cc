#include "ddss/heap.h"

#include <algorithm>
#include <iterator>

namespace iw::ddss {

Heap::Heap(std::size_t begin, std::size_t end) {
  if (begin < end) free_[begin] = (end - begin) / grain * grain;
}

std::optional<std::size_t> Heap::take(std::size_t bytes) {
  if (bytes > SIZE_MAX - grain) return std::nullopt;
  const std::size_t wanted = std::max<std::size_t>(1, (bytes + grain - 1) / grain) * grain;
  const auto fits = [&](const auto& hole) { return hole.second >= wanted; };
  const auto found = std::find_if(free_.begin(), free_.end(), fits);
  if (found == free_.end()) return std::nullopt;
  const auto [offset, size] = *found;
  free_.erase(found);
  if (size > wanted) free_[offset + wanted] = size - wanted;
  taken_[offset] = wanted;
  return offset;
}

std::size_t Heap::size_of(std::size_t offset) const {
  const auto found = taken_.find(offset);
  return found == taken_.end() ? 0 : found->second;
}

std::size_t Heap::give_back(std::size_t offset) {
  const auto found = taken_.find(offset);
  if (found == taken_.end()) return 0;
  const std::size_t size = found->second;
  taken_.erase(found);
  auto hole = free_.emplace(offset, size).first;
  const auto next = std::next(hole);
  if (next != free_.end() && next->first == offset + hole->second) {
    hole->second += next->second;
    free_.erase(next);
  }
  if (hole != free_.begin()) {
    const auto before = std::prev(hole);
    if (before->first + before->second == offset) {
      before->second += hole->second;
      free_.erase(hole);
    }
  }
  return size;
}

}  // namespace iw::ddss
