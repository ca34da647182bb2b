// Descriptors, of which each peer over TCP takes some.
#pragma once

namespace iw::fabric {

// Raises this process's limit as far as it may. For programs of ours that serve any number of
// others; a library leaves the limits of its program alone.
void have_as_many_open_files_as_may_be();

// Whether there are enough for one connection more [UCX-9].
bool has_open_files_for_a_peer();

}  // namespace iw::fabric
