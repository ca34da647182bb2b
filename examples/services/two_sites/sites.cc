#include "two_sites/sites.h"

namespace two_sites {

using services::Lock;
using services::Segment;

Shared::Shared() {
  for (std::size_t i = 0; i < places_max; i++) {
    places_.push_back(Segment<Place>::named("two-sites place " + std::to_string(i), DDSS_VERSION));
  }
  for (const Site site : sites) {
    queues_[index(site)] =
        Segment<Queue>::named(std::string("two-sites queue ") + name_of(site), DDSS_VERSION);
  }
}

std::uint64_t Shared::add_requests(Site site, std::uint64_t count) const {
  const Lock lock(queue(site).key());
  Queue now = queue(site).get();
  now.arrived += count;
  queue(site).put(now);
  return now.waiting();
}

void Shared::cancel_requests(Site site) const {
  const Lock lock(queue(site).key());
  Queue now = queue(site).get();
  now.arrived = now.taken;
  queue(site).put(now);
}

}  // namespace two_sites
