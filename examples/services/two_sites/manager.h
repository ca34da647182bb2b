// The manager: reads the servers' load records in their memory, without their processors, moves a
// server from an idle site to a loaded one, and frees the places of servers that died. It never
// waits for a server that lives: where one holds its place just then, it is passed over.
#pragma once

#include "two_sites/sites.h"

namespace two_sites {

struct Change {
  enum class Kind { kMoved, kLost } kind;
  std::size_t place;
  int node;             // the server's
  Site site;            // that it belongs to from now on, or belonged to when it died
  std::uint64_t moves;  // the place's, from now on
  double took_us;
};

struct SiteLoad {
  std::size_t servers = 0;    // that belong to it
  std::size_t reporting = 0;  // that have worked for it since they came
  std::uint64_t waiting = 0;  // the most that one of those saw
};

class Manager {
 public:
  explicit Manager(const Shared& shared) : shared_(shared) {}
  // One look at all servers: first the dead, then at most one move.
  std::vector<Change> look();

 private:
  struct Seen {
    std::size_t number;
    Place place;
  };
  void look_at(std::size_t number, std::vector<Change>* changes);
  void take_back(const Seen& dead, std::vector<Change>* changes) const;
  bool is_too_loaded(Site site) const;
  bool move(const Seen& seen, std::vector<Change>* changes) const;

  const Shared& shared_;
  std::vector<Seen> alive_;
  std::array<SiteLoad, 2> loads_;
};

}  // namespace two_sites
