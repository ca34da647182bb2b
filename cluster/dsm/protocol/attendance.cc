#include "dsm/protocol/attendance.h"

namespace iw::dsm {
namespace {

// The rank at a barrier waits for one more barrier than it has passed.
bool waits_for(const Whereabouts& at_barrier, const Whereabouts& other) {
  const bool is_behind = other.barriers <= at_barrier.barriers;
  return is_behind && (other.where == Where::end || at_barrier.collectives < other.collectives);
}

}  // namespace

bool contradict(const Whereabouts& one, const Whereabouts& other) {
  if (one.where == other.where) return false;
  if (one.where == Where::barrier) return waits_for(one, other);
  if (other.where == Where::barrier) return waits_for(other, one);
  const bool is_end = one.where == Where::end;
  const Whereabouts& end = is_end ? one : other;
  const Whereabouts& collective = is_end ? other : one;
  return end.collectives < collective.collectives;
}

bool Attendance::compare(Rank rank, const Whereabouts& there, Rank other, const Whereabouts& here) {
  if (!contradict(there, here)) return false;
  listener_.contradict({rank, there.where}, {other, here.where});
  return true;
}

void Attendance::come(const Whereabouts& here) {
  here_ = here;
  for (const auto& [rank, there] : others_) {
    if (compare(rank, there, me_, here)) return;
  }
}

void Attendance::heard(Rank from, const Whereabouts& there) {
  others_[from] = there;
  if (here_ && compare(from, there, me_, *here_)) return;
  is_any_at_end_ = is_any_at_end_ || there.where == Where::end;
  if (!is_any_at_end_) return;
  for (const auto& [rank, other] : others_) {
    if (compare(from, there, rank, other)) return;
  }
}

}  // namespace iw::dsm
