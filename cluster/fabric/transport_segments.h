// The System V segments that the transport library makes for a worker: its queue and the buffers of
// what arrives. UCX 1.13 opens them to the user's group [UCX-16], and has no setting for that.
#pragma once

#include <set>

namespace iw::fabric {

// Those that are mapped here now.
std::set<int> mapped_segments();

// Leaves the user alone the right to map those that this process made and are not in `before`.
// False: the system refuses.
bool close_new_segments_to_others(const std::set<int>& before);

}  // namespace iw::fabric
