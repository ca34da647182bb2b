#include "callee/shared_stocks.h"

#include <cstdio>
#include <stdexcept>

#include "traffic.h"
#include "tree.h"

namespace stock {
namespace {

// The MIP came from outside: it must lead to a part. A lock is held.
part* part_at(const KnownParts& parts, const std::string& mip) {
  void* const place = IW_mip_to_ptr(mip.c_str());
  if (place == nullptr) throw iw::Error::last();
  auto* const found = static_cast<part*>(place);
  if (!parts.has(found)) {
    throw std::runtime_error(mip + " leads to no part; give the MIP of a stock's root");
  }
  return found;
}

// The pointers came from outside, too. Ends a walk that leads out of the segment or to a part that
// was freed, and one in a circle.
class WalkCheck {
 public:
  explicit WalkCheck(const KnownParts& parts) : parts_(parts), left_(parts.count()) {}
  void operator()(const part* one) {
    if (!parts_.has(one)) throw std::runtime_error("these parts are not a tree: one is gone");
    if (left_-- == 0) throw std::runtime_error("these parts are not a tree: one comes twice");
  }

 private:
  const KnownParts& parts_;
  std::size_t left_;
};

}  // namespace

SharedStocks::Open& SharedStocks::open(const std::string& mip) {
  const std::string url = mip.substr(0, mip.find('#'));
  for (auto one = open_.begin(); one != open_.end(); ++one) {
    if (one->url != url) continue;
    open_.splice(open_.begin(), open_, one);
    return open_.front();
  }
  open_.push_front({url, iw::Segment(url, IW_open_options{}), {}});  // not made if it is not there
  if (open_.size() > kOpenMax) open_.pop_back();
  return open_.front();
}

receipt SharedStocks::restock(const std::string& root_mip, const restock_order& order) {
  auto& [url, segment, parts] = open(root_mip);
  iw::WriteLock lock(segment);
  parts.update(segment);
  receipt done = stock::restock(part_at(parts, root_mip), order, WalkCheck(parts));
  lock.release();
  done.traffic = traffic_of(segment);
  return done;
}

receipt SharedStocks::introduce(const new_part& wanted) {
  auto& [url, segment, parts] = open(wanted.root);
  iw::WriteLock lock(segment);
  parts.update(segment);
  part* root = part_at(parts, wanted.root);
  part** const place = place_of(&root, wanted.number, WalkCheck(parts));
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
