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

void Attendance::come(const Whereabouts& here) {
  here_ = here;
  for (const auto& [rank, there] : others_) {
    if (contradict(there, here)) return listener_.contradicts(rank, there.where, here.where);
  }
}

void Attendance::heard(Rank from, const Whereabouts& there) {
  others_[from] = there;
  if (here_ && contradict(there, *here_)) {
    listener_.contradicts(from, there.where, here_->where);
  }
}

}  // namespace iw::dsm
