// Barriers by a tree of ranks [DSM-BARRIER-5].
#include "dsm/protocol/programs_fixture.h"

namespace iw::dsm {
namespace {

// A chain of three ranks, and a tree of four, in which rank 1 is the parent of rank 3.
// [DSM-BARRIER-5]
TEST(AllOrders, ABarrierByATreeBringsStoresToAllRanks) {
  const Program writes = {store(0, 7), barrier(1)};
  const Program reads = {barrier(1), load(0)};
  const Program waits = {barrier(1)};
  for (const std::vector<Program>& each :
       {std::vector{writes, waits, reads}, {reads, waits, writes}, {reads, writes, waits}}) {
    EXPECT_GT(run_all_orders(each, {5}, {.fan_in = 1}, 3), 3u);
  }
  EXPECT_GT(run_all_orders({waits, reads, waits, writes}, {}, {.fan_in = 2}, 4), 3u);
}

// Two barriers: a rank may be at the second one while others have not heard of the first.
TEST(AllOrders, BarriersByATreeFollowEachOther) {
  const Program writes = {store(0, 7), barrier(1), barrier(2)};
  const Program waits = {barrier(1), barrier(2)};
  const Program reads = {barrier(1), load(0), barrier(2)};
  const auto is_clean = [](World& world) { expect_clean(world); };
  EXPECT_GT(run_all_orders({waits, reads, writes}, {}, {.fan_in = 1}, 3, is_clean), 3u);
}

// What a lock of an inner rank's other thread brings meanwhile. [DSM-BARRIER-5] [DSM-LOCK-6]
TEST(AllOrders, ALockIsGivenWhileTheTreeGathers) {
  const Program holds = {acquire(3), store(0, 1), release(3), barrier(1)};
  const Program waits = {barrier(1), load(0)};
  EXPECT_GT(run_all_orders({waits, waits, holds}, {}, {.fan_in = 1}, 3), 5u);
}

TEST(Barriers, ByATreeTakeAMessageToEachRankAndOneBack) {
  constexpr Rank ranks = 21;
  auto world = world_of(std::vector<Program>(ranks, {barrier(1)}), ranks, 1);
  run(*world, [](std::size_t) { return 0; });
  EXPECT_EQ(world->messages, 2u * (ranks - 1));
  const BarrierTree tree = BarrierTree::of(ranks);
  EXPECT_EQ(tree.children(0), 4u);
  EXPECT_EQ(tree.children(4), 4u);
  EXPECT_EQ(tree.children(5), 0u);
  EXPECT_EQ(BarrierTree::of(15).children(0), 14u);
}

// The wrong rank is a leaf, and its parent names it. [DSM-BARRIER-3] [DSM-BARRIER-5]
TEST(Barriers, ByATreeNameARankAtAnotherBarrier) {
  auto world = world_of({{barrier(1)}, {barrier(1)}, {barrier(2)}}, 3, 1, {}, {.fan_in = 1});
  while (!world->choices().empty()) world->take(world->choices().front());
  EXPECT_EQ(world->rank(1).mismatches, std::vector<std::string>{"2: 2 and 1"});
}

// Rank 0 takes notice when its own program arrives. [DSM-MAIL-1]
TEST(Barriers, TakeNoArrivalThatLeavesAnIntervalOut) {
  auto world = world_of({{barrier(1)}, {}}, 2, 1);
  Barriers& barriers = world->rank(0).barriers;
  const std::vector<Interval> all = {{{1, 1}, {0}}, {{1, 2}, {0}}};
  EXPECT_FALSE(barriers.heard_arrive(1, 1, {0, 2}, std::span(all).last(1)));
  EXPECT_TRUE(barriers.heard_arrive(1, 1, {0, 2}, all));
  world->take(world->choices().front());
  EXPECT_TRUE(world->is_done());
  EXPECT_EQ(world->rank(0).pages.log().known(), (VectorTime{0, 2}));
}

}  // namespace
}  // namespace iw::dsm
