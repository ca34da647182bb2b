// Decides whether a cached copy is recent enough. Each coherence model is a pure function of what
// is known about the copy and of the local clock (spec/coherence.md: COH-1..7, FRESH-1..5).
#pragma once

#include <cstdint>
#include <limits>

#include "protocol/lock.gen.h"

namespace iw::coherence {

using Model = protocol::coherence_model;

struct Bound {
  Model model = Model::FULL;
  double x = 0;  // versions (Delta), seconds (Temporal), per cent (Diff)
  friend bool operator==(const Bound&, const Bound&) = default;
};

inline constexpr std::int64_t never_ns = std::numeric_limits<std::int64_t>::min();

// The facts known about a copy. All moments are of the local clock.
struct Knowledge {
  bool has_copy = false;
  protocol::version_stamp copy;
  protocol::version_stamp newest;           // the newest version heard of
  std::int64_t newest_as_of_ns = never_ns;  // `newest` was the newest at this moment
  std::int64_t confirmed_ns = never_ns;     // `copy` was the newest at this moment
  // The server has promised to tell when `promise` is broken, and has not done so.
  bool promised = false;
  Bound promise;
  std::int64_t heard_ns = never_ns;  // the last message from the server on this connection
  std::int64_t heartbeat_ns = 0;
};

// True if no message is needed. `began_ns` is when the acquire was called. Strict is never recent
// enough without asking [FRESH-4].
bool is_recent(const Bound& bound, const Knowledge& copy, std::int64_t began_ns,
               std::int64_t now_ns);

// The latest moment at which the copy is known to have been the newest version [FRESH-2, FRESH-3].
std::int64_t confirmed_ns(const Knowledge& copy);

// The bound that the server should watch for a reader with this bound. Temporal is decided on the
// local clock, so its reader wants to hear of every first newer version.
Bound promise_for(const Bound& bound);

// Whether a server can watch for this model.
bool can_subscribe(Model model);

}  // namespace iw::coherence
