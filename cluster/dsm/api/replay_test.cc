// Homes that a program chooses before the first barrier.
#include "dsm/api/replay.h"

#include <gtest/gtest.h>

#include <map>

namespace iw::dsm {
namespace {

constexpr Rank job_ranks = 3;

std::map<PageNumber, Rank> homes_of(const Replay& replay) {
  std::map<PageNumber, Rank> homes;
  for (const Placement& each : replay.homes()) {
    for (std::size_t i = 0; i < each.count; i++) {
      const std::size_t turns = each.is_by_turns ? i : 0;
      homes[each.first + i] = static_cast<Rank>((each.home + turns) % job_ranks);
    }
  }
  return homes;
}

TEST(Replay, PagesArePlacedByBlocksByTurnsAndAtARank) {
  Replay replay;
  replay.place_blocks(10, 5, 2);
  replay.place_round_robin(20, 4);
  replay.place_at(30, 2, 1);
  const std::map<PageNumber, Rank> expected = {{10, 0}, {11, 0}, {12, 1}, {13, 1}, {14, 1}, {20, 0},
                                               {21, 1}, {22, 2}, {23, 0}, {30, 1}, {31, 1}};
  EXPECT_EQ(homes_of(replay), expected);
}

TEST(Replay, ALaterChoiceCountsAndFirstTouchTakesChoicesBack) {
  Replay replay;
  replay.place_at(0, 10, 1);
  replay.place_at(2, 2, 2);
  replay.leave_to_first_touch(3, 4, job_ranks);
  const std::map<PageNumber, Rank> expected = {{0, 1}, {1, 1}, {2, 2}, {7, 1}, {8, 1}, {9, 1}};
  EXPECT_EQ(homes_of(replay), expected);
}

TEST(Replay, PagesByTurnsAreOneChoiceAndStayInTurnWhereSomeAreTakenBack) {
  Replay replay;
  replay.place_round_robin(0, std::size_t{1} << 30);
  EXPECT_EQ(replay.homes().size(), 1u);
  Replay cut;
  cut.place_round_robin(0, 7);
  cut.leave_to_first_touch(2, 2, job_ranks);
  const std::map<PageNumber, Rank> expected = {{0, 0}, {1, 1}, {4, 1}, {5, 2}, {6, 0}};
  EXPECT_EQ(homes_of(cut), expected);
}

TEST(Replay, MorePiecesThanPagesLeaveSomeEmpty) {
  Replay replay;
  replay.place_blocks(0, 1, 4);
  EXPECT_EQ(homes_of(replay).size(), 1u);
}

TEST(Replay, TheHashTellsCallsAndTheirOrderApart) {
  Replay first, second, third;
  first.note(Replay::Call::allocate, 1);
  first.note(Replay::Call::allocate, 2);
  second.note(Replay::Call::allocate, 2);
  second.note(Replay::Call::allocate, 1);
  third.note(Replay::Call::allocate, 1);
  third.note(Replay::Call::free, 2);
  EXPECT_NE(first.hash(), second.hash());
  EXPECT_NE(first.hash(), third.hash());
}

}  // namespace
}  // namespace iw::dsm
