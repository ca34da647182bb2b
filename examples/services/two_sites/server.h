// A server: has a place, serves the site that the place says, and records its load for whoever
// reads it.
#pragma once

#include <optional>

#include "two_sites/sites.h"

namespace two_sites {

class Server {
 public:
  // Takes a free place. Throws services::Failure if all places are taken.
  Server(const Shared& shared, Site site);
  ~Server();  // gives the place back
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  std::size_t place() const { return place_; }

  struct Served {
    Site site;
    std::uint64_t moves;  // the place's, when the request was taken
  };
  // Takes a request of its site and is busy with it for so long; nothing if none waits. Throws
  // services::Failure if the place was taken away.
  std::optional<Served> serve_one(unsigned cost_us);

 private:
  std::optional<Served> take_request();
  bool take_place(std::size_t number, Site site);

  const Shared& shared_;
  const services::Segment<LoadRecord> shared_record_;
  LoadRecord record_{};
  std::uint64_t me_;
  std::size_t place_ = 0;
};

}  // namespace two_sites
