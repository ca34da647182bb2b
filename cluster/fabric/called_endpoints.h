// The endpoints that other workers opened on verbs, and that are no peer's yet. Whoever calls may
// be a stranger that never says hello, so each has a deadline [HELLO-11].
//
// Invariant: an endpoint is here from its call until it is a peer's, or is closed.
#pragma once

#include <ucp/api/ucp.h>

#include <map>
#include <vector>

#include "fabric/fabric.h"

namespace iw::fabric {

class CalledEndpoints {
 public:
  void add(ucp_ep_h endpoint, Deadline until) { until_.emplace(endpoint, until); }
  bool contains(ucp_ep_h endpoint) const { return until_.contains(endpoint); }
  std::size_t size() const { return until_.size(); }
  // False: it is not here.
  bool take(ucp_ep_h endpoint) { return until_.erase(endpoint) > 0; }
  // Those whose deadline has passed are not here afterwards.
  std::vector<ucp_ep_h> take_late(Deadline now) {
    return take_those([now](Deadline until) { return until <= now; });
  }
  std::vector<ucp_ep_h> take_all() {
    return take_those([](Deadline) { return true; });
  }

 private:
  template <typename Is>
  std::vector<ucp_ep_h> take_those(Is is_it) {
    std::vector<ucp_ep_h> taken;
    std::erase_if(until_, [&](const auto& each) {
      if (!is_it(each.second)) return false;
      taken.push_back(each.first);
      return true;
    });
    return taken;
  }
  std::map<ucp_ep_h, Deadline> until_;
};

}  // namespace iw::fabric
