#include "two_sites/server.h"

#include <chrono>

namespace two_sites {

using services::Failure;
using services::Lock;
using services::Segment;

Server::Server(const Shared& shared, Site site)
    : shared_(shared),
      shared_record_(Segment<LoadRecord>::here(DDSS_VERSION)),
      me_(static_cast<std::uint64_t>(ddss_node()) + 1) {
  record_.site = site;
  shared_record_.put(record_);
  while (!take_place(place_, site)) {
    if (++place_ == places_max) {
      throw Failure("all " + std::to_string(places_max) + " places are taken; end another server");
    }
  }
}

bool Server::take_place(std::size_t number, Site site) {
  const auto& place = shared_.place(number);
  if (place.get().server != 0) return false;
  const Lock lock(place.key());
  const Place now = place.get();
  if (now.server != 0) return false;
  place.put(Place{me_, site, now.moves + 1, shared_record_.key()});
  return true;
}

Server::~Server() {
  try {
    const auto& place = shared_.place(place_);
    const Lock lock(place.key());
    const Place now = place.get();
    if (now.server == me_) place.put(Place{0, now.site, now.moves + 1, 0});
  } catch (const Failure&) {
    // The manager is gone, and the places with it.
  }
}

std::optional<Server::Served> Server::take_request() {
  const auto& place = shared_.place(place_);
  const Lock staying(place.key(), Lock::Kind::kShared);
  const Place now = place.get();
  if (now.server != me_) {
    throw Failure(
        "this server's place was given away, because the manager could not read it; start it "
        "again");
  }
  const auto& shared_queue = shared_.queue(now.site);
  Queue queue = shared_queue.get();
  const bool may_take = queue.waiting() > 0;
  if (may_take) {
    const Lock lock(shared_queue.key());
    queue = shared_queue.get();
    if (queue.waiting() > 0) {
      queue.taken++;
      shared_queue.put(queue);
      record_.served++;
      record_.site = now.site;
      record_.waiting = queue.waiting();
      return Served{now.site, now.moves};
    }
  }
  record_.site = now.site;
  record_.waiting = 0;
  return std::nullopt;
}

std::optional<Server::Served> Server::serve_one(unsigned cost_us) {
  const auto served = take_request();
  shared_record_.put(record_);
  if (served) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(cost_us);
    while (std::chrono::steady_clock::now() < end) {
    }
  }
  return served;
}

}  // namespace two_sites
