#include "callee/shared_stocks.h"

#include <cstdio>
#include <stdexcept>

#include "traffic.h"
#include "tree.h"

namespace stock {
namespace {

// Whether a part of the copy's version is there. `p` may lead anywhere; a lock is held.
bool is_part(const iw::Segment& segment, const void* p) {
  IW_block_t block{};
  block.size = sizeof block;
  if (IW_describe_block(segment.handle(), p, &block) != 0) return false;
  const auto offset = static_cast<const char*>(p) - static_cast<const char*>(block.address);
  return block.type == IW_part && block.is_reserved == 0 && offset % sizeof(part) == 0;
}

// The MIP came from outside: it must lead to a part. A lock is held.
part* part_at(const iw::Segment& segment, const std::string& mip) {
  void* const place = IW_mip_to_ptr(mip.c_str());
  if (place == nullptr) throw iw::Error::last();
  if (!is_part(segment, place)) {
    throw std::runtime_error(mip + " leads to no part; give the MIP of a stock's root");
  }
  return static_cast<part*>(place);
}

// The pointers came from outside, too. Ends a walk that leads out of the segment or to a part that
// was freed, and one in a circle: a tree has no more parts than the segment has blocks.
class WalkCheck {
 public:
  explicit WalkCheck(const iw::Segment& segment)
      : segment_(segment), left_(stats_of(segment).blocks) {}
  void operator()(const part* one) {
    if (!is_part(segment_, one)) throw std::runtime_error("these parts are no tree: one is gone");
    if (left_-- == 0) throw std::runtime_error("these parts are no tree: one comes twice");
  }

 private:
  const iw::Segment& segment_;
  std::uint64_t left_;
};

}  // namespace

const iw::Segment& SharedStocks::segment_of(const std::string& mip) {
  const std::string url = mip.substr(0, mip.find('#'));
  for (auto one = open_.begin(); one != open_.end(); ++one) {
    if (one->first != url) continue;
    open_.splice(open_.begin(), open_, one);
    return open_.front().second;
  }
  open_.emplace_front(url, iw::Segment(url, IW_open_options{}));  // not made if it is not there
  if (open_.size() > kOpenMax) open_.pop_back();
  return open_.front().second;
}

receipt SharedStocks::restock(const std::string& root_mip, const restock_order& order) {
  const iw::Segment& segment = segment_of(root_mip);
  iw::WriteLock lock(segment);
  receipt done = stock::restock(part_at(segment, root_mip), order, WalkCheck(segment));
  lock.release();
  done.traffic = traffic_of(segment);
  return done;
}

receipt SharedStocks::introduce(const new_part& wanted) {
  const iw::Segment& segment = segment_of(wanted.root);
  iw::WriteLock lock(segment);
  part* root = part_at(segment, wanted.root);
  part** const place = place_of(&root, wanted.number, WalkCheck(segment));
  if (*place != nullptr) {
    throw std::runtime_error("part " + std::to_string(wanted.number) + " is there already ('" +
                             (*place)->name + "'); take another number");
  }
  void* const made = IW_malloc(segment.handle(), IW_part);
  if (made == nullptr) throw iw::Error::last();
  *place = static_cast<part*>(made);
  (*place)->number = wanted.number;
  (*place)->price = wanted.price;
  std::snprintf((*place)->name, sizeof(*place)->name, "%s", wanted.name);
  lock.release();
  return {0, 0, 0, traffic_of(segment)};
}

}  // namespace stock
