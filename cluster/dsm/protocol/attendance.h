// Where this rank and its children in the tree are: at a barrier, in a collective, or at the end.
// All ranks come to the same ones in the same order. If two do not, both would wait for ever: it is
// an error of the program. A pure state machine. Implements [DSM-BARRIER-4] of spec/cluster/dsm.x.
//
// What a rank told may be old, so two ranks are compared by counts: of the barriers that a rank has
// passed, and of the collectives that it has come to.
//
// Two ranks that wait for each other, in different places, make a parent and a child among the
// ranks between them do so, once all of these have come to a place. So each rank looks at its
// children only. A parent may wait elsewhere, for what a rank at the end would have to do. So it
// compares children at the end with the others.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "dsm/dsm.gen.h"
#include "dsm/protocol/time.h"

namespace iw::dsm {

struct Whereabouts {
  Where where = Where::barrier;
  std::uint64_t barriers = 0;     // that the rank has passed
  std::uint64_t collectives = 0;  // that it has come to, this one among them
};

// Ranks at these places wait for each other, or have waited.
bool contradict(const Whereabouts& one, const Whereabouts& other);

struct Attendant {
  Rank rank = 0;
  Where where = Where::barrier;
};

class AttendanceListener {
 public:
  virtual ~AttendanceListener() = default;
  virtual void contradict(const Attendant& one, const Attendant& other) = 0;
};

class Attendance {
 public:
  Attendance(Rank me, AttendanceListener& listener) : me_(me), listener_(listener) {}

  // This rank.
  void come(const Whereabouts& here);
  // Another one.
  void heard(Rank from, const Whereabouts& there);

 private:
  // True: they contradict each other, and the listener was told.
  bool compare(Rank rank, const Whereabouts& there, Rank other, const Whereabouts& here);

  const Rank me_;
  AttendanceListener& listener_;
  std::optional<Whereabouts> here_;
  bool is_any_at_end_ = false;
  std::unordered_map<Rank, Whereabouts> others_;
};

}  // namespace iw::dsm
