// Where processes wait for each other, again and again. The last process raises the version that
// the others look at.
#pragma once

#include <string>

#include "space/patience.h"
#include "space/space.h"

namespace services {

class Barrier {
 public:
  Barrier(const std::string& name, std::uint64_t processes)
      : arrived_(Segment<std::uint64_t>::named(name + ": arrived", DDSS_NULL)),
        round_(Segment<std::uint64_t>::named(name + ": round", DDSS_VERSION)),
        processes_(processes) {}

  void wait() const {
    const std::uint64_t before = version();
    if (arrive()) return round_.put(0);
    for (Patience patience; version() == before;) patience.pause();
  }

 private:
  // Whether this was the last, so that the next round is counted from 0.
  bool arrive() const {
    const Lock lock(arrived_.key());
    const std::uint64_t arrived = (arrived_.get() + 1) % processes_;
    arrived_.put(arrived);
    return arrived == 0;
  }
  std::uint64_t version() const {
    std::uint64_t version = 0;
    check(ddss_version(round_.key(), &version), "waiting at a barrier");
    return version;
  }

  const Segment<std::uint64_t> arrived_, round_;
  const std::uint64_t processes_;
};

}  // namespace services
