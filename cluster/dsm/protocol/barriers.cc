#include "dsm/protocol/barriers.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace iw::dsm {

void Barriers::arrive(BarrierId barrier) {
  pages_.end_interval();
  take(me_, {barrier, pages_.log().known(), {}});
}

bool Barriers::heard_arrive(Rank from, BarrierId barrier, const VectorTime& known,
                            std::span<const Interval> held) {
  // This rank takes notice later, in a call of its own program.
  if (!tree_.is_child(from, me_) || !pages_.log().can_add(held)) return false;
  take(from, {barrier, known, {held.begin(), held.end()}});
  return true;
}

void Barriers::take(Rank from, Arrival arrival) {
  for (const auto& each : arrived_) {
    if (!each || each->barrier == arrival.barrier) continue;
    return listener_.mismatch(from, arrival.barrier, each->barrier);
  }
  auto& place = arrived_[place_of(from)];
  if (place) return listener_.arrived_twice(from, arrival.barrier);
  place = std::move(arrival);
  if (++arrivals_ == arrived_.size()) gather();
}

// This rank has arrived as well, so its own pages may be invalidated now. Others wait for its word:
// pages are closed behind it.
void Barriers::gather() {
  const BarrierId barrier = arrived_[0]->barrier;
  VectorTime least = arrived_[0]->known;
  std::vector<Interval> held;
  for (auto& each : arrived_) {
    std::ranges::move(std::exchange(each->held, {}), std::back_inserter(held));
    for (Rank writer = 0; writer < least.size(); writer++) {
      least[writer] = std::min(least[writer], each->known[writer]);
    }
  }
  has_begun_period_ = pages_.learn_first(held);
  if (me_ == 0) return let_all_go(VectorTime(pages_.log().known()));
  mail_.arrive(tree_.parent(me_), barrier, least, pages_.log().all());
  pages_.close_stale();
}

void Barriers::let_all_go(const VectorTime& common) {
  for (std::size_t child = 1; child < arrived_.size(); child++) {
    const auto rank = static_cast<Rank>(tree_.first_child(me_) + child - 1);
    mail_.let_go(rank, common, pages_.log().after(arrived_[child]->known));
  }
  pages_.close_stale();
  arrived_.assign(arrived_.size(), std::nullopt);
  arrivals_ = 0;
  pages_.forget_up_to(common);
  listener_.passed(common);
}

bool Barriers::heard_let_go(Rank from, const VectorTime& common,
                            std::span<const Interval> lacking) {
  if (me_ == 0 || from != tree_.parent(me_) || arrivals_ != arrived_.size()) return false;
  if (has_begun_period_) {
    pages_.learn_rest(lacking);
  } else {
    pages_.learn_first(lacking);
  }
  let_all_go(common);
  return true;
}

}  // namespace iw::dsm
