// Barriers, by a manager: rank 0. A pure state machine. Implements [DSM-BARRIER-1] to
// [DSM-BARRIER-3] of spec/cluster/dsm.x (PIPE, section 3).
//
// Every rank arrives with all intervals that its log holds. These are its own since the barrier
// before, and those of which it learned by locks: their writers may have ended them behind their
// own arrivals, by other threads. When all have arrived, the manager knows whatever happened before
// any arrival, and tells each rank what that rank lacks. Then nobody needs to be told of it again.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "dsm/protocol/pages.h"
#include "dsm/protocol/time.h"

namespace iw::dsm {

using BarrierId = std::uint64_t;
inline constexpr Rank barrier_manager = 0;

class BarrierMail {
 public:
  virtual ~BarrierMail() = default;
  virtual void arrive(Rank to, BarrierId barrier, const VectorTime& known,
                      std::span<const Interval> held) = 0;
  // `common`: every rank knows of the intervals up to that time then.
  virtual void let_go(Rank to, const VectorTime& common, std::span<const Interval> lacking) = 0;
};

class BarrierListener {
 public:
  virtual ~BarrierListener() = default;
  virtual void passed() = 0;
  // Two ranks are at different barriers: the program is wrong.
  virtual void mismatch(Rank rank, BarrierId there, BarrierId here) = 0;
  // Two threads of a rank are at the barrier: likewise.
  virtual void arrived_twice(Rank rank, BarrierId barrier) = 0;
};

class Barriers {
 public:
  Barriers(Rank me, Rank ranks, Pages& pages, BarrierMail& mail, BarrierListener& listener)
      : me_(me), pages_(pages), mail_(mail), listener_(listener), arrived_(ranks) {}

  // One thread of the rank at a time.
  void arrive(BarrierId barrier);

  void heard_arrive(Rank from, BarrierId barrier, const VectorTime& known,
                    std::span<const Interval> held);
  // False: this rank is not at a barrier. The manager broke the protocol.
  [[nodiscard]] bool heard_let_go(const VectorTime& common, std::span<const Interval> lacking);
  // At the manager: the first of the ranks that wait for others, and its barrier.
  std::optional<std::pair<Rank, BarrierId>> first_waiting() const;

 private:
  struct Arrival {
    BarrierId barrier;
    VectorTime known;
    std::vector<Interval> held;
  };
  void let_all_go();

  const Rank me_;
  Pages& pages_;
  BarrierMail& mail_;
  BarrierListener& listener_;
  std::vector<std::optional<Arrival>> arrived_;
  std::size_t arrivals_ = 0;
  bool has_arrived_ = false;
};

}  // namespace iw::dsm
