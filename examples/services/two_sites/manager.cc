#include "two_sites/manager.h"

#include <algorithm>
#include <chrono>

namespace two_sites {
namespace {

using services::Failure;
using services::Lock;
using services::Segment;
using Clock = std::chrono::steady_clock;

// A site is loaded if so many requests wait there, and so many times those of the other.
constexpr std::uint64_t waiting_min = 8, times_the_other = 4;

double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

// Whether the server's memory is still there.
bool read_record(ddss_key_t key, LoadRecord* record) {
  try {
    *record = Segment<LoadRecord>(key).get();
    return true;
  } catch (const Failure& failure) {
    if (failure.error() != DDSS_ENODE && failure.error() != DDSS_ENOKEY) throw;
    return false;
  }
}

}  // namespace

std::vector<Change> Manager::look() {
  std::vector<Change> changes;
  alive_.clear();
  loads_ = {};
  for (std::size_t number = 0; number < places_max; number++) look_at(number, &changes);
  for (const Site site : sites) {
    if (!is_too_loaded(site)) continue;
    const auto may_go = [&](const Seen& seen) { return seen.place.site == other(site); };
    for (const Seen& seen : alive_) {
      if (may_go(seen) && move(seen, &changes)) break;
    }
  }
  return changes;
}

void Manager::look_at(std::size_t number, std::vector<Change>* changes) {
  const Place place = shared_.place(number).get();
  if (place.server == 0) return;
  LoadRecord record;
  if (!read_record(place.record, &record)) return take_back({number, place}, changes);
  alive_.push_back({number, place});
  SiteLoad& load = loads_[index(place.site)];
  load.servers++;
  if (record.site != place.site) return;
  load.reporting++;
  load.waiting = std::max(load.waiting, record.waiting);
}

void Manager::take_back(const Seen& dead, std::vector<Change>* changes) const {
  const auto begin = Clock::now();
  const auto& shared = shared_.place(dead.number);
  const Lock lock(shared.key());  // if the dead server held it, waiting for it recovers it
  const Place now = shared.get();
  if (now.server != dead.place.server || now.record != dead.place.record) return;
  const Place free{0, now.site, now.moves + 1, 0};
  shared.put(free);
  changes->push_back(
      {Change::Kind::kLost, dead.number, now.node(), now.site, free.moves, us_since(begin)});
}

// A site without servers is, whatever waits there.
bool Manager::is_too_loaded(Site site) const {
  const SiteLoad& its = loads_[index(site)];
  const SiteLoad& others = loads_[index(other(site))];
  if (others.servers < 2) return false;
  if (its.servers == 0) return true;
  if (its.reporting == 0 || others.reporting == 0) return false;
  return its.waiting >= waiting_min && its.waiting / times_the_other >= others.waiting;
}

bool Manager::move(const Seen& seen, std::vector<Change>* changes) const {
  const auto begin = Clock::now();
  const auto& shared = shared_.place(seen.number);
  const Lock lock = Lock::attempt(shared.key());
  if (!lock.is_held()) return false;
  Place place = shared.get();
  if (place.moves != seen.place.moves) return false;  // it left
  place.site = other(place.site);
  place.moves++;
  shared.put(place);
  changes->push_back(
      {Change::Kind::kMoved, seen.number, place.node(), place.site, place.moves, us_since(begin)});
  return true;
}

}  // namespace two_sites
