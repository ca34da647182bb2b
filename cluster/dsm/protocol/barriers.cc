#include "dsm/protocol/barriers.h"

#include <algorithm>
#include <iterator>

namespace iw::dsm {

void Barriers::arrive(BarrierId barrier) {
  pages_.end_interval();
  has_arrived_ = true;
  const std::vector<Interval> held = pages_.log().all();
  const VectorTime& known = pages_.log().known();
  if (me_ == barrier_manager) return heard_arrive(me_, barrier, known, held);
  mail_.arrive(barrier_manager, barrier, known, held);
}

void Barriers::heard_arrive(Rank from, BarrierId barrier, const VectorTime& known,
                            std::span<const Interval> held) {
  for (const auto& each : arrived_) {
    if (each && each->barrier != barrier) return listener_.mismatch(from, barrier, each->barrier);
  }
  if (arrived_[from]) return listener_.arrived_twice(from, barrier);
  arrived_[from] = Arrival{barrier, known, {held.begin(), held.end()}};
  if (++arrivals_ == arrived_.size()) let_all_go();
}

std::optional<std::pair<Rank, BarrierId>> Barriers::first_waiting() const {
  for (Rank rank = 0; rank < arrived_.size(); rank++) {
    if (arrived_[rank]) return std::pair(rank, arrived_[rank]->barrier);
  }
  return std::nullopt;
}

// The manager has arrived as well, so its own pages may be invalidated now.
void Barriers::let_all_go() {
  std::vector<Interval> held;
  for (auto& each : arrived_) std::ranges::move(each->held, std::back_inserter(held));
  pages_.learn(held);
  const VectorTime common = pages_.log().known();
  for (Rank rank = 0; rank < arrived_.size(); rank++) {
    if (rank == me_) continue;
    mail_.let_go(rank, common, pages_.log().after(arrived_[rank]->known));
  }
  arrived_.assign(arrived_.size(), std::nullopt);
  arrivals_ = 0;
  has_arrived_ = false;
  pages_.forget_up_to(common);
  listener_.passed();
}

bool Barriers::heard_let_go(const VectorTime& common, std::span<const Interval> lacking) {
  if (!has_arrived_) return false;
  pages_.learn(lacking);
  has_arrived_ = false;
  pages_.forget_up_to(common);
  listener_.passed();
  return true;
}

}  // namespace iw::dsm
