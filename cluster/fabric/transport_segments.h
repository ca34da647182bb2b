// The System V segments that the transport library makes for a worker: its queue and the buffers of
// what arrives. UCX 1.13 opens them to the user's group [UCX-16], and has no setting for that.
#pragma once

#include <optional>
#include <set>

namespace iw::fabric {

// Those that are mapped here now. None: the system does not tell.
std::optional<std::set<int>> mapped_segments();

// Leaves the user alone the right to map those that this process made, that are not in `before`,
// and that have UCX's mode, 0660. A segment of another mode is the program's, made meanwhile.
// False: the system refuses, or does not tell.
bool close_new_segments_to_others(const std::set<int>& before);

}  // namespace iw::fabric
