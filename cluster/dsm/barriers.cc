#include "dsm/barriers.h"

#include <algorithm>

namespace iw::dsm {

void Barriers::arrive(BarrierId barrier) {
  pages_.end_interval();
  const std::vector<Interval> own = pages_.log().after(Stamp{me_, 0});
  const VectorTime& known = pages_.log().known();
  if (me_ == barrier_manager) return heard_arrive(me_, barrier, known, own);
  mail_.arrive(barrier_manager, barrier, known, own);
}

void Barriers::heard_arrive(Rank from, BarrierId barrier, const VectorTime& known,
                            std::span<const Interval> own) {
  for (Rank rank = 0; rank < arrived_.size(); rank++) {
    if (!arrived_[rank] || arrived_[rank]->barrier == barrier) continue;
    return listener_.mismatch(from, barrier, arrived_[rank]->barrier);
  }
  arrived_[from] = Arrival{barrier, known, {own.begin(), own.end()}};
  if (++arrivals_ == arrived_.size()) let_all_go();
}

// The manager has arrived as well, so its own pages may be invalidated now.
void Barriers::let_all_go() {
  for (const auto& each : arrived_) pages_.learn(each->own);
  const VectorTime common = pages_.log().known();
  for (Rank rank = 0; rank < arrived_.size(); rank++) {
    if (rank == me_) continue;
    mail_.let_go(rank, common, pages_.log().after(arrived_[rank]->known));
  }
  arrived_.assign(arrived_.size(), std::nullopt);
  arrivals_ = 0;
  pages_.forget_up_to(common);
  listener_.passed();
}

void Barriers::heard_let_go(const VectorTime& common, std::span<const Interval> lacking) {
  pages_.learn(lacking);
  pages_.forget_up_to(common);
  listener_.passed();
}

}  // namespace iw::dsm
