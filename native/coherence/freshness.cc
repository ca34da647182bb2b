#include "coherence/freshness.h"

#include <algorithm>

namespace iw::coherence {
namespace {

constexpr double ns_per_s = 1e9;

bool is_newest(const Knowledge& copy) { return copy.copy == copy.newest; }

// The promise holds only while the server is heard [FRESH-3].
bool promise_counts(const Knowledge& copy, std::int64_t now_ns) {
  return copy.promised && copy.heard_ns != never_ns &&
         now_ns - copy.heard_ns <= 2 * copy.heartbeat_ns;
}

// At most x versions behind, as of a moment during the acquire or by the server's promise.
bool within_versions(double x, const Knowledge& copy, std::int64_t began_ns, std::int64_t now_ns) {
  if (copy.copy.incarnation != copy.newest.incarnation) return false;
  const std::uint64_t behind = copy.newest.number - copy.copy.number;
  // The same number with another content is not the same version [COH-11].
  if (behind == 0 && !is_newest(copy)) return false;
  if (static_cast<double>(behind) > x) return false;
  if (copy.newest_as_of_ns >= began_ns) return true;
  if (!promise_counts(copy, now_ns)) return false;
  if (copy.promise.model == Model::FULL) return true;
  return copy.promise.model == Model::DELTA && copy.promise.x <= x;
}

bool within_seconds(double x, const Knowledge& copy, std::int64_t now_ns) {
  const std::int64_t confirmed = confirmed_ns(copy);
  return confirmed != never_ns && static_cast<double>(now_ns - confirmed) <= x * ns_per_s;
}

bool within_per_cent(const Bound& bound, const Knowledge& copy, std::int64_t began_ns,
                     std::int64_t now_ns) {
  if (within_versions(0, copy, began_ns, now_ns)) return true;
  return promise_counts(copy, now_ns) && copy.promise.model == Model::DIFF &&
         copy.promise.x <= bound.x;
}

}  // namespace

std::int64_t confirmed_ns(const Knowledge& copy) {
  const bool watched = copy.promised && copy.promise.model == Model::FULL && is_newest(copy);
  return watched ? std::max(copy.confirmed_ns, copy.heard_ns) : copy.confirmed_ns;
}

bool is_recent(const Bound& bound, const Knowledge& copy, std::int64_t began_ns,
               std::int64_t now_ns) {
  if (!copy.has_copy) return false;
  switch (bound.model) {
    case Model::FULL:
      return within_versions(0, copy, began_ns, now_ns);
    case Model::STRICT:
      return false;
    case Model::NULL_COHERENCE:
      return true;
    case Model::DELTA:
      return within_versions(bound.x, copy, began_ns, now_ns);
    case Model::TEMPORAL:
      return within_seconds(bound.x, copy, now_ns);
    case Model::DIFF:
      return within_per_cent(bound, copy, began_ns, now_ns);
  }
  return false;
}

Bound promise_for(const Bound& bound) {
  return bound.model == Model::DELTA || bound.model == Model::DIFF ? bound : Bound{};
}

bool can_subscribe(Model model) { return model != Model::STRICT && model != Model::NULL_COHERENCE; }

}  // namespace iw::coherence
