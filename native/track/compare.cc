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

class CompareTracker final : public Tracker {
 public:
  [[nodiscard]] const char* name() const override { return "compare"; }
  [[nodiscard]] bool finds_pages() const override { return false; }

  std::unique_ptr<Area> create(std::size_t size_bytes, void* wanted_address, bool read_only,
                               int memfd, Status& status, Placement placement) override {
    const AreaRequest request{size_bytes, wanted_address, read_only, memfd, placement};
    if (read_only) return create_read_only(request, false, status);
    TwoViews views;
    status = map_two_views(request, views);
    if (!status.ok()) return nullptr;
    return std::make_unique<CompareArea>(std::move(views));
  }
};

}  // namespace

Status make_compare(std::unique_ptr<Tracker>& out) {
  out = std::make_unique<CompareTracker>();
  return {};
}

}  // namespace iw::track
