// Areas of a segment opened read-only: no second copy. The view is the same memory as the
// "pristine copy", through which the library writes what arrives.
#include <cerrno>
#include <utility>

#include "track/mechanisms.h"

namespace iw::track {

namespace {

constexpr Status refused{EACCES, "the area is read-only"};

class ReadOnlyArea final : public MappedArea {
 public:
  explicit ReadOnlyArea(TwoViews views) : MappedArea(std::move(views), Stores::refused) {}

  Status report_stores() { return guard().start(); }

  Status arm() override { return refused; }

  Status collect(std::vector<PageRange>& dirty) override {
    dirty.clear();
    return check_process();
  }

  Status apply_done() override {
    has_pages();
    return check_process();
  }
  Status commit(std::span<const PageRange>) override { return refused; }
  Status commit_some(std::span<const PageRange>) override { return refused; }
  Status rollback(std::span<const PageRange>) override { return check_process(); }
  void list_again(std::span<const PageRange>) override {}
  Status show_pristine() override { return check_process(); }
};

}  // namespace

std::unique_ptr<Area> create_read_only(const AreaRequest& request, bool reports_stores,
                                       Status& status) {
  TwoViews views;
  status = map_two_views(request, views);
  if (!status.ok()) return nullptr;
  auto area = std::make_unique<ReadOnlyArea>(std::move(views));
  if (reports_stores) status = area->report_stores();
  if (!status.ok()) return nullptr;
  return area;
}

}  // namespace iw::track
