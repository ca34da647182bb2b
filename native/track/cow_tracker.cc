#include "track/cow_tracker.h"

#include "platform/no_fork.h"
#include "track/mechanisms.h"

namespace iw::track {

namespace {

constexpr std::size_t measured_pages = 32;

}  // namespace

std::unique_ptr<Area> CowTracker::create(std::size_t size_bytes, void* wanted_address,
                                         bool read_only, int memfd, Status& status,
                                         Placement placement) {
  const AreaRequest request{size_bytes, wanted_address, read_only, memfd, placement};
  if (read_only) return create_read_only(request, mechanism_.reports_refused_stores, status);
  std::unique_ptr<CowArea> area = make_and_start(request, status);
  if (area != nullptr) area->open_by(prices());
  return area;
}

std::unique_ptr<CowArea> CowTracker::make_and_start(const AreaRequest& request, Status& status) {
  TwoViews views;
  std::unique_ptr<CowArea> area;
  status = map_two_views(request, views);
  if (status.ok()) status = make_area(std::move(views), area);
  if (status.ok()) status = area->start();
  if (!status.ok()) return nullptr;
  return area;
}

Status CowTracker::measure_prices(Clock clock) {
  Status status;
  const AreaRequest request{measured_pages * platform::page_size(), nullptr, false, -1,
                            Placement::if_free};
  const std::unique_ptr<CowArea> area = make_and_start(request, status);
  if (area == nullptr || area->most_opening() == Opening::none) return status;
  Prices measured;
  if (Status bad = area->measure(clock, measured); !bad) return bad;
  const platform::NoForkLock lock(mutex_);
  prices_ = measured;
  return {};
}

Prices CowTracker::prices() const {
  const platform::NoForkLock lock(mutex_);
  return prices_;
}

}  // namespace iw::track
