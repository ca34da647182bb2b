// Barriers, by a tree of ranks (barrier_tree.h). A pure state machine. Implements [DSM-BARRIER-1],
// [DSM-BARRIER-2], [DSM-BARRIER-3] and [DSM-BARRIER-5] of spec/cluster/dsm.x (PIPE, section 3).
//
// Every rank arrives with all intervals that its log holds. These are its own since the barrier
// before, and those of which it learned by locks: their writers may have ended them behind their
// own arrivals, by other threads. An inner rank takes notice of what its children bring, and
// arrives at its parent for all of them. When all have arrived, rank 0 knows whatever happened
// before any arrival. On the way back each rank tells its children what their ranks lack. Then
// nobody needs to be told of it again.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "dsm/protocol/barrier_tree.h"
#include "dsm/protocol/pages.h"
#include "dsm/protocol/time.h"

namespace iw::dsm {

using BarrierId = std::uint64_t;

class BarrierMail {
 public:
  virtual ~BarrierMail() = default;
  // `known`: by all ranks that arrive with this one.
  virtual void arrive(Rank to, BarrierId barrier, const VectorTime& known,
                      std::span<const Interval> held) = 0;
  // `common`: every rank knows of the intervals up to that time then.
  virtual void let_go(Rank to, const VectorTime& common, std::span<const Interval> lacking) = 0;
};

class BarrierListener {
 public:
  virtual ~BarrierListener() = default;
  // All ranks know of the intervals up to that time.
  virtual void passed(const VectorTime& common) = 0;
  // Two ranks are at different barriers: the program is wrong.
  virtual void mismatch(Rank rank, BarrierId there, BarrierId here) = 0;
  // Two threads of a rank are at the barrier: likewise.
  virtual void arrived_twice(Rank rank, BarrierId barrier) = 0;
};

class Barriers {
 public:
  Barriers(Rank me, const BarrierTree& tree, Pages& pages, BarrierMail& mail,
           BarrierListener& listener)
      : me_(me),
        tree_(tree),
        pages_(pages),
        mail_(mail),
        listener_(listener),
        arrived_(tree.children(me) + 1) {}

  // One thread of the rank at a time.
  void arrive(BarrierId barrier);

  // False: this rank is not the sender's parent, or an interval was left out. The sender broke the
  // protocol.
  [[nodiscard]] bool heard_arrive(Rank from, BarrierId barrier, const VectorTime& known,
                                  std::span<const Interval> held);
  // False: the sender is not this rank's parent, or this rank's part has not arrived.
  [[nodiscard]] bool heard_let_go(Rank from, const VectorTime& common,
                                  std::span<const Interval> lacking);

 private:
  struct Arrival {
    BarrierId barrier;
    VectorTime known;
    std::vector<Interval> held;
  };
  // This rank is the first; its children follow.
  std::size_t place_of(Rank rank) const {
    return rank == me_ ? 0 : rank - tree_.first_child(me_) + 1;
  }
  void take(Rank from, Arrival arrival);
  void gather();
  void let_all_go(const VectorTime& common);

  const Rank me_;
  const BarrierTree tree_;
  Pages& pages_;
  BarrierMail& mail_;
  BarrierListener& listener_;
  std::vector<std::optional<Arrival>> arrived_;
  std::size_t arrivals_ = 0;
  bool has_begun_period_ = false;  // by what the children brought
};

}  // namespace iw::dsm
