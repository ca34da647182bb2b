// What the servers of two sites, their clients and their manager share. A place says which site a
// server belongs to: changed under the place's lock, so that a server that shares the lock while it
// takes a request takes none of a site that it has left. Places and queues lie with the manager,
// who founds the space; each server's load record lies in its own memory and ends with it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "space/space.h"

namespace two_sites {

enum class Site : std::uint64_t { kA, kB };
inline constexpr std::array<Site, 2> sites{Site::kA, Site::kB};
inline constexpr std::size_t places_max = 16;

inline Site other(Site site) { return site == Site::kA ? Site::kB : Site::kA; }
inline std::size_t index(Site site) { return site == Site::kA ? 0 : 1; }
inline const char* name_of(Site site) { return site == Site::kA ? "A" : "B"; }

struct Place {
  std::uint64_t server;  // its node's number plus 1; 0: the place is free
  Site site;
  std::uint64_t moves;  // how often server or site changed
  ddss_key_t record;
  int node() const { return static_cast<int>(server) - 1; }
};

struct LoadRecord {
  Site site;              // that it worked for last
  std::uint64_t waiting;  // requests there, as it saw them
  std::uint64_t served;
};

// The requests of a site are alike: it is enough to count them.
struct Queue {
  std::uint64_t arrived, taken;
  std::uint64_t waiting() const { return arrived - taken; }
};

class Shared {
 public:
  Shared();
  const services::Segment<Place>& place(std::size_t number) const { return places_.at(number); }
  const services::Segment<Queue>& queue(Site site) const { return queues_.at(index(site)); }
  // Clients'. Returns how many wait now.
  std::uint64_t add_requests(Site site, std::uint64_t count) const;
  void cancel_requests(Site site) const;

 private:
  std::vector<services::Segment<Place>> places_;
  std::array<services::Segment<Queue>, 2> queues_;
};

}  // namespace two_sites
