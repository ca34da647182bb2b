#include "caller/stock_segment.h"

#include <cstdio>
#include <stdexcept>
#include <utility>

#include "tree.h"

namespace stock {
namespace {

constexpr double kLockWait_s = 30;

// The cost of a disk is not part of a call.
IW_open_options in_memory() {
  IW_open_options options{};
  options.flags = IW_CREATE;
  options.durability = IW_MEMORY;
  return options;
}

void check_depth(int depth) {
  if (depth == kDeepest) throw std::runtime_error("these parts are not a tree: they go too deep");
}

PartCopy copy_of(const part* from, int depth) {
  if (from == nullptr) return nullptr;
  check_depth(depth);
  PartCopy to = make_part_copy(from->number, from->in_stock, from->price, from->name);
  to->lower = copy_of(from->lower, depth + 1).release();
  to->higher = copy_of(from->higher, depth + 1).release();
  return to;
}

void each_part(const part* one, const std::function<void(const part&)>& show, int depth) {
  if (one == nullptr) return;
  check_depth(depth);
  each_part(one->lower, show, depth + 1);
  show(*one);
  each_part(one->higher, show, depth + 1);
}

// Numbers are equal, since both trees have the same shape; only the stock has changed.
void store(const part_copy* from, part* to) {
  if (from == nullptr) return;
  to->in_stock = from->in_stock;
  store(from->lower, to->lower);
  store(from->higher, to->higher);
}

}  // namespace

iw::ReadLock newest(const iw::Segment& segment) {
  auto lock = iw::ReadLock::try_for(segment, kLockWait_s, IW_FRESH);
  if (!lock) throw iw::Error::last();
  return std::move(*lock);
}

StockSegment::StockSegment(const std::string& url) : segment_(url, in_memory()) {}

part* StockSegment::root() const {
  auto* const found = segment_.find<part>("root");
  if (found == nullptr)
    throw std::runtime_error("the stock has no parts yet; try `plant 1000` first");
  return found;
}

std::string StockSegment::root_mip() const {
  const iw::ReadLock lock(segment_);
  const IW_mip_t mip = IW_ptr_to_mip(root());
  if (mip == nullptr) throw iw::Error::last();
  std::string text = mip;
  IW_mip_free(mip);
  return text;
}

void StockSegment::plant(std::size_t parts) {
  if (segment_.find<part>("root") != nullptr) {
    throw std::runtime_error("there are parts already; use them, or another segment with --url");
  }
  const auto middle = static_cast<int>(1 + parts / 2) * kNumberStep;  // make_tree's root
  make_tree(1, parts + 1, [&](int number) {
    part* const one = iw::make<part>(segment_, number == middle ? "root" : "");
    one->number = number;
    one->in_stock = 10;
    one->price = price_of(number);
    std::snprintf(one->name, sizeof one->name, "part %d", number);
    return one;
  });
}

void StockSegment::each(const std::function<void(const part&)>& show) const {
  const iw::ReadLock lock = newest(segment_);
  each_part(root(), show, 0);
}

PartCopy StockSegment::copied() const { return copy_of(root(), 0); }

void StockSegment::take_over(const part_copy& from) { store(&from, root()); }

}  // namespace stock
