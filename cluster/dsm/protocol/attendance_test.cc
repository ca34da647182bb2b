// Two ranks that come to barriers, collectives and the end in any orders: whether they contradict
// each other is compared with running them.
#include "dsm/protocol/attendance.h"

#include <gtest/gtest.h>

#include <vector>

namespace iw::dsm {
namespace {

using Places = std::vector<Where>;

// Each rank waits at its place until the other one is there, too.
std::size_t places_in_common(const Places& one, const Places& other) {
  std::size_t common = 0;
  while (common < one.size() && common < other.size() && one[common] == other[common]) common++;
  return common;
}

Whereabouts whereabouts(const Places& all, std::size_t place) {
  Whereabouts at;
  at.where = all[place];
  for (std::size_t i = 0; i <= place; i++) {
    if (all[i] == Where::collective) at.collectives++;
    if (all[i] == Where::barrier && i < place) at.barriers++;
  }
  return at;
}

// All sequences of so many barriers and collectives, with an end behind them.
std::vector<Places> all_programs() {
  constexpr unsigned places_most = 4;
  std::vector<Places> all;
  for (unsigned count = 0; count <= places_most; count++) {
    for (unsigned bits = 0; bits < 1u << count; bits++) {
      Places& program = all.emplace_back();
      for (unsigned i = 0; i < count; i++) {
        program.push_back((bits >> i & 1) != 0 ? Where::collective : Where::barrier);
      }
      program.push_back(Where::end);
    }
  }
  return all;
}

// A rank comes to a place when the other one has been at all places before it. [DSM-BARRIER-4]
TEST(Attendance, RanksContradictEachOtherExactlyIfTheyWaitForEachOtherInDifferentPlaces) {
  for (const Places& one : all_programs()) {
    for (const Places& other : all_programs()) {
      const std::size_t common = places_in_common(one, other);
      for (std::size_t i = 0; i <= common && i < one.size(); i++) {
        for (std::size_t j = 0; j <= common && j < other.size(); j++) {
          const bool both_wait = i == common && j == common;
          EXPECT_EQ(contradict(whereabouts(one, i), whereabouts(other, j)), both_wait);
          EXPECT_EQ(contradict(whereabouts(other, j), whereabouts(one, i)), both_wait);
        }
      }
    }
  }
}

class Told final : public AttendanceListener {
 public:
  void contradict(const Attendant& one, const Attendant& other) override {
    times++;
    last = one.rank;
    last_other = other.rank;
    EXPECT_NE(one.where, other.where);
  }
  int times = 0;
  Rank last = 0;
  Rank last_other = 0;
};

TEST(Attendance, IsComparedWhoeverComesFirst) {
  for (const bool is_first : {false, true}) {
    Told told;
    Attendance attendance(0, told);
    if (is_first) attendance.come({Where::barrier, 2, 0});
    attendance.heard(5, {Where::collective, 1, 0});
    attendance.heard(6, {Where::collective, 2, 1});
    if (!is_first) attendance.come({Where::barrier, 2, 0});
    EXPECT_EQ(told.times, 1);
    EXPECT_EQ(told.last, 6);
    EXPECT_EQ(told.last_other, 0);
  }
}

// Their parent waits for something else, and would never come to a place.
TEST(Attendance, IsComparedAmongChildrenIfOneIsAtTheEnd) {
  constexpr Whereabouts end{Where::end, 2, 0}, at_barrier{Where::barrier, 2, 0};
  for (const bool is_end_first : {false, true}) {
    Told told;
    Attendance attendance(0, told);
    attendance.heard(5, is_end_first ? end : at_barrier);
    attendance.heard(7, {Where::barrier, 1, 0});
    EXPECT_EQ(told.times, 0);
    attendance.heard(6, is_end_first ? at_barrier : end);
    EXPECT_EQ(told.times, 1);
    EXPECT_EQ(told.last, 6);
    EXPECT_EQ(told.last_other, 5);
  }
}

}  // namespace
}  // namespace iw::dsm
