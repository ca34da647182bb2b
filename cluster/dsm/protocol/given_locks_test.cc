// Locks that go back to their homes [DSM-LOCK-7].
#include "dsm/protocol/programs_fixture.h"

namespace iw::dsm {
namespace {

// A lock goes back to its home in every moment of another rank's request. [DSM-LOCK-7]
TEST(AllOrders, ALockThatIsGivenBackIsHeldByOneRank) {
  constexpr Switches gives_back{.kept_locks = 0};
  std::size_t given_back = 0;
  const auto count = [&](World& world) { given_back += world.locks_given_back; };
  const Program section = {acquire(3), load(0), store(0, 9), release(3)};
  Program again = {acquire(3), store(0, 1), release(3), barrier(1)};
  append(&again, section);
  const Program tries = {barrier(1), try_acquire(3), load(0), store(0, 9), release(3)};
  Program waits = {barrier(1)};
  append(&waits, section);
  for (const std::vector<Program>& each :
       {std::vector{again, waits}, {waits, again}, {again, tries}, {tries, again}}) {
    EXPECT_GT(run_all_orders(each, {}, gives_back, 2, count), 5u);
  }
  EXPECT_GT(given_back, 0u);
}

// [DSM-LOCK-7]
TEST(Locks, OfManyNumbersLeaveNothingBehind) {
  constexpr std::size_t kept = 100;
  Program many = {};
  BarrierId number = 0;
  for (LockId lock = 0; lock < 20 * kept; lock++) {
    append(&many, {acquire(lock), release(lock)});
    if (lock % kept == 0) many.push_back(barrier(++number));
  }
  many.push_back(barrier(++number));
  Program waits;
  for (BarrierId each = 1; each <= number; each++) waits.push_back(barrier(each));
  auto world = world_of({many, waits}, 2, 1, {}, {.kept_locks = kept});
  run(*world, [](std::size_t) { return 0; });
  for (Rank rank = 0; rank < 2; rank++) {
    EXPECT_LE(world->rank(rank).locks.remembered(), 4 * kept) << "rank " << rank;
  }
}

constexpr LockId some_lock = 3;

// Two ranks: the home of the lock, and the other one.
struct HomeAndOther {
  std::unique_ptr<World> world = world_of({{}, {}}, 2, 1);
  Rank home = world->rank(0).locks.home_of(some_lock);
  Rank other = static_cast<Rank>(1 - home);
};

// A look at all locks after each release would cost more than the locks. [DSM-LOCK-7]
TEST(Locks, ThatAreAllInUseAreNotLookedThroughAgain) {
  Program in_use = {};
  for (int round = 0; round < 3; round++) {
    for (LockId lock = 0; lock < 10; lock++) append(&in_use, {acquire(lock), release(lock)});
  }
  auto world = world_of({in_use, {}}, 2, 1, {}, {.kept_locks = 2});
  run(*world, [](std::size_t) { return 0; });
  ModelRank& rank = world->rank(0);
  const VectorTime common = rank.pages.log().known();
  EXPECT_TRUE(rank.locks.wants_common_time());
  EXPECT_FALSE(rank.locks.all_know(common));
  EXPECT_FALSE(rank.locks.wants_common_time()) << "there are as many locks as before";
  rank.locks.passed_barrier(common);
  EXPECT_TRUE(rank.locks.wants_common_time());
}

// Such a barrier never comes, and later grants would wait for it. [DSM-LOCK-7]
TEST(Locks, AreNotTakenBackFromARankThatIsBarriersAhead) {
  HomeAndOther ranks;
  Locks& home = ranks.world->rank(ranks.home).locks;
  EXPECT_FALSE(home.heard_give_back(ranks.other, 2, {}));
  EXPECT_TRUE(home.heard_give_back(ranks.other, 1, {}));
}

// [DSM-LOCK-6]
TEST(Locks, AreGrantedOnceAndByARankThatIsABarrierAheadAtMost) {
  HomeAndOther ranks;
  Locks& asker = ranks.world->rank(ranks.other).locks;
  ASSERT_EQ(asker.acquire(some_lock), Locks::Outcome::asked);
  EXPECT_FALSE(asker.heard_grant(ranks.home, some_lock, 2, {}));
  EXPECT_TRUE(asker.heard_grant(ranks.home, some_lock, 1, {}));
  EXPECT_FALSE(asker.heard_grant(ranks.home, some_lock, 1, {})) << "it waits for the barrier";
}

// [DSM-LOCK-5] That a try takes its refusal is in the tests of all orders.
TEST(Locks, AreRefusedToNoRankWhoseThreadWaits) {
  HomeAndOther ranks;
  Locks& asker = ranks.world->rank(ranks.other).locks;
  ASSERT_EQ(asker.acquire(some_lock), Locks::Outcome::asked);
  EXPECT_FALSE(asker.heard_refuse(some_lock));
  EXPECT_TRUE(asker.heard_grant(ranks.home, some_lock, 1, {})) << "it is still waited for";
}

// The barrier does not bring what the grant left out, and the rank's own call finds it.
TEST(Locks, AreNotTakenWhereAGrantLeavesAnIntervalOut) {
  HomeAndOther ranks;
  ModelRank& asker = ranks.world->rank(ranks.other);
  ASSERT_EQ(asker.locks.acquire(some_lock), Locks::Outcome::asked);
  EXPECT_TRUE(asker.locks.heard_grant(ranks.home, some_lock, 1, {{{ranks.home, 2}, {0}}}));
  asker.locks.passed_barrier({0, 0});
  EXPECT_EQ(asker.gaps, std::vector<Rank>{ranks.home});
}

}  // namespace
}  // namespace iw::dsm
