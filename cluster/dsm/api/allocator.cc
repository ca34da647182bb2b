#include "dsm/api/allocator.h"

#include <algorithm>
#include <iterator>

namespace iw::dsm {
namespace {

// How many extents that might do are looked at before one is taken that certainly does.
constexpr int candidates_max = 8;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t to) {
  return (value + to - 1) / to * to;
}

constexpr std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 31)) * 0x7fb5d329728ea185;
  value = (value ^ (value >> 27)) * 0x81dadef4bc2dd44d;
  return value ^ (value >> 33);
}

constexpr std::uint64_t seal_of(HeapAddress block, std::uint64_t bytes, bool is_free) {
  return mix(mix(block) + bytes) ^ (is_free ? 0x66726565626c6f63 : 0x75736564626c6f63);
}

}  // namespace

Allocator::Allocator(HeapAddress begin, HeapAddress end, std::uint64_t page_bytes,
                     BlockHeaders& headers)
    : begin_(begin), end_(end), page_bytes_(page_bytes), headers_(headers), reached_(begin) {
  add_extent(begin, end);
}

void Allocator::add_extent(HeapAddress begin, HeapAddress end) {
  if (begin >= end) return;
  const auto after = extents_.lower_bound(begin);
  if (after != extents_.end() && after->first == end) {
    end = after->second;
    remove_extent(after);
  }
  const auto next = extents_.lower_bound(begin);
  if (next != extents_.begin() && std::prev(next)->second == begin) {
    begin = std::prev(next)->first;
    remove_extent(std::prev(next));
  }
  extents_.emplace(begin, end);
  by_size_.emplace(end - begin, begin);
  free_bytes_ += end - begin;
}

void Allocator::remove_extent(std::map<HeapAddress, HeapAddress>::iterator extent) {
  const std::uint64_t bytes = extent->second - extent->first;
  by_size_.erase({bytes, extent->first});
  free_bytes_ -= bytes;
  extents_.erase(extent);
}

// The smallest extent that does. Of a block that is aligned to a page, some extents of its size lie
// so that it does not fit.
std::optional<Allocator::Place> Allocator::find(std::uint64_t bytes,
                                                std::uint64_t alignment) const {
  auto each = by_size_.lower_bound({bytes + header_bytes, 0});
  for (int looked_at = 0; each != by_size_.end(); ++looked_at) {
    if (looked_at == candidates_max) {
      each = by_size_.lower_bound({bytes + header_bytes + alignment, 0});
      if (each == by_size_.end()) break;
    }
    const auto& [size, begin] = *each;
    const HeapAddress block = round_up(begin + header_bytes, alignment);
    if (block + bytes <= begin + size) return Place{begin, block};
    ++each;
  }
  return std::nullopt;
}

std::optional<HeapAddress> Allocator::allocate(std::uint64_t bytes) {
  if (bytes > end_ - begin_) return std::nullopt;
  bytes = round_up(std::max<std::uint64_t>(bytes, 1), block_alignment);
  const std::uint64_t alignment = bytes < page_bytes_ ? block_alignment : page_bytes_;
  const std::optional<Place> place = find(bytes, alignment);
  if (!place) return std::nullopt;
  const auto extent = extents_.find(place->extent);
  const HeapAddress end = extent->second;
  remove_extent(extent);
  add_extent(place->extent, place->block - header_bytes);
  add_extent(place->block + bytes, end);
  reached_ = std::max(reached_, place->block + bytes);
  headers_.store(place->block - header_bytes, {bytes, seal_of(place->block, bytes, false)});
  return place->block;
}

Allocator::Freed Allocator::free(HeapAddress block) {
  if (block < begin_ + header_bytes || block >= end_ || block % block_alignment != 0) {
    return Freed::foreign;
  }
  const HeapAddress at = block - header_bytes;
  const BlockHeader header = headers_.load(at);
  if (header.seal == seal_of(block, header.bytes, true)) return Freed::free_already;
  if (header.seal != seal_of(block, header.bytes, false) || header.bytes > end_ - block) {
    return Freed::foreign;
  }
  headers_.store(at, {header.bytes, seal_of(block, header.bytes, true)});
  add_extent(at, block + header.bytes);
  return Freed::freed;
}

HeapAddress Allocator::reached_end() const {
  return begin_ + round_up(reached_ - begin_, page_bytes_);
}

void Allocator::end_replay(Rank me, Rank ranks) {
  const HeapAddress shared = reached_end();
  const std::uint64_t share = (end_ - shared) / ranks / page_bytes_ * page_bytes_;
  const auto extents = extents_;
  extents_.clear();
  by_size_.clear();
  free_bytes_ = 0;
  if (me == 0) {
    for (const auto& [begin, end] : extents) add_extent(begin, std::min(end, shared));
  }
  add_extent(shared + me * share, shared + (me + 1) * share);
}

}  // namespace iw::dsm
