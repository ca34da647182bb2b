// compare: no tracking. Every page may have been stored to, and the word-by-word comparison finds
// the changes. This is the cheapest mechanism when most pages change (the papers' no-diff mode,
// with diffs), and the last resort when no other mechanism works.
#include <memory>
#include <utility>

#include "track/mechanisms.h"

namespace iw::track {

namespace {

class CompareArea final : public CowArea {
 public:
  explicit CompareArea(TwoViews views) : CowArea(std::move(views), Stores::free) {}

 private:
  Status take_stored(const PageSet& among, PageSet& out) override {
    out.add(among);
    return {};
  }
};

}  // namespace

Status make_compare(std::unique_ptr<Tracker>& out) {
  out = std::make_unique<PlainTracker<CompareArea>>(MechanismFacts{"compare", false, false});
  return {};
}

}  // namespace iw::track
