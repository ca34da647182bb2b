#include "track/cow_tracker.h"

#include "track/mechanisms.h"

namespace iw::track {

std::unique_ptr<Area> CowTracker::create(std::size_t size_bytes, void* wanted_address,
                                         bool read_only, int memfd, Status& status,
                                         Placement placement) {
  const AreaRequest request{size_bytes, wanted_address, read_only, memfd, placement};
  if (read_only) return create_read_only(request, mechanism_.reports_refused_stores, status);
  TwoViews views;
  std::unique_ptr<CowArea> area;
  status = map_two_views(request, views);
  if (status.ok()) status = make_area(std::move(views), area);
  if (status.ok()) status = area->start();
  if (!status.ok()) return nullptr;
  return area;
}

}  // namespace iw::track
