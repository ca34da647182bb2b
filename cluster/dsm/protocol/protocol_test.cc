// Pages, locks and barriers together: programs without data races see one memory, in whatever order
// the messages arrive.
#include "dsm/protocol/programs_fixture.h"

namespace iw::dsm {
namespace {

// [DSM-BARRIER-1] [DSM-BARRIER-2] [DSM-PAGE-4] [DSM-TIME-1]
TEST(AllOrders, AStoreBeforeABarrierIsSeenAfterIt) {
  const Program writer = {store(0, 7), barrier(1), load(0)};
  const Program reader = {barrier(1), load(0)};
  EXPECT_GT(run_all_orders({writer, reader}, {5}), 5u);
  EXPECT_GT(run_all_orders({reader, writer}, {5}), 3u);
}

// [DSM-DIFF-1] [DSM-PAGE-3] [DSM-PAGE-6]
TEST(AllOrders, TwoWritersOfAPageMergeAtABarrier) {
  const Program even = {store(0, 1), barrier(1), load(1)};
  const Program odd = {store(1, 2), barrier(1), load(0)};
  EXPECT_GT(run_all_orders({even, odd}), 100u);
}

// The rank's copy is stale, and the rank has written to the page itself. [DSM-PAGE-5] [DSM-PAGE-7]
TEST(AllOrders, AWriterSeesItsOwnStoresInThePageThatItFetchesAgain) {
  const Program home = {load(0), barrier(1), acquire(3), store(0, 1), release(3)};
  const Program other = {barrier(1), acquire(4), store(1, 2), release(4),
                         acquire(3), load(0),    load(1),     release(3)};
  EXPECT_GT(run_all_orders({home, other}), 100u);
}

// [DSM-LOCK-1] [DSM-LOCK-2] [DSM-LOCK-4]
TEST(AllOrders, ACounterUnderALockCountsEachSection) {
  const Program section = {acquire(3), load(0), store(0, 9), release(3)};
  EXPECT_GT(run_all_orders({section, section}, {5}), 5u);
}

// [DSM-LOCK-5]
TEST(AllOrders, ALockThatIsTriedIsHeldByOneRank) {
  const Program tries = {try_acquire(3), load(0), store(0, 9), release(3)};
  const Program waits = {acquire(3), load(0), store(0, 8), release(3)};
  EXPECT_GT(run_all_orders({tries, waits}), 5u);
  EXPECT_GT(run_all_orders({waits, tries}), 5u);
}

// [DSM-LOCK-3]: both locks bring what was written under either.
TEST(AllOrders, ALockInsideOfAnotherBringsTheStoresUnderBoth) {
  const Program nests = {acquire(3), store(0, 1), acquire(4), store(1, 2), release(4), release(3)};
  const Program follows = {acquire(3), load(0), acquire(4), load(1), release(4), release(3)};
  EXPECT_GT(run_all_orders({nests, follows}), 5u);
}

// [DSM-LOCK-6]
TEST(AllOrders, ALockThatIsHeldOverABarrierBringsTheStoresOnBothSides) {
  const Program holds = {acquire(3), store(0, 1), barrier(1), store(1, 2), release(3)};
  const Program waits = {barrier(1), acquire(3), load(0), load(1), store(0, 3), release(3)};
  EXPECT_GT(run_all_orders({holds, waits}), 5u);
  EXPECT_GT(run_all_orders({waits, holds}), 5u);
}

// The second thread waits for the first one's lock, and for another rank's.
TEST(AllOrders, TwoThreadsOfARankTakeTurnsWithAnotherRank) {
  const Program section = {acquire(3), load(0), store(0, 9), release(3)};
  EXPECT_GT(run_all_orders({section, section, section, {}}, {5}), 20u);
}

std::size_t messages_of(const std::vector<Program>& programs) {
  auto world = world_of(programs, 2, 1);
  run(*world, [](std::size_t) { return 0; });
  return world->messages;
}

// [DSM-LOCK-3]
TEST(Messages, ALockWhoseLastOwnerAsksAgainCostsNone) {
  const Program once = {acquire(3), store(0, 1), release(3)};
  Program often;
  for (int i = 0; i < 100; i++) append(&often, once);
  EXPECT_EQ(messages_of({often, {}}), messages_of({once, {}}));
}

// [DSM-PAGE-8]
TEST(Messages, LoadsAndStoresBetweenSynchronisationsCostNoneButMisses) {
  const Program once = {store(0, 1), barrier(1)};
  const Program often = {store(0, 1), store(0, 2), load(0), load(1), store(1, 3), barrier(1)};
  EXPECT_EQ(messages_of({once, {barrier(1)}}), messages_of({often, {barrier(1)}}));
}

// Takes the first choice: rank 0 goes first.
std::unique_ptr<World> run_in_turn(const std::vector<Program>& programs, std::size_t pages,
                                   const std::vector<Word>& initial = {}) {
  auto world = world_of(programs, 2, pages, initial);
  run(*world, [](std::size_t) { return 0; });
  return world;
}

TEST(Messages, StoresOfTheValueThatIsThereMakeNoDiff) {
  const Program home = {load(0), barrier(1), barrier(2)};
  EXPECT_EQ(run_in_turn({home, {barrier(1), store(0, 0), barrier(2)}}, 1)->diffs, 0u);
  EXPECT_EQ(run_in_turn({home, {barrier(1), store(0, 5), barrier(2)}}, 1)->diffs, 1u);
}

// [DSM-PAGE-1] [DSM-PAGE-2]
TEST(Homes, TheFirstRankThatTouchesAPageIsItsHomeAndMakesNoTwin) {
  const Program writes = {store(0, 5), barrier(1), store(1, 6), barrier(2)};
  const Program later = {barrier(1), store(2, 7), barrier(2)};
  auto world = run_in_turn({writes, later}, 1);
  EXPECT_EQ(world->rank(0).twins_made(), 0u);
  EXPECT_EQ(world->rank(1).twins_made(), 1u);
}

// [DSM-PAGE-10]
TEST(Homes, APageThatNobodyElseHasHadIsInNoInterval) {
  const Program home = {store(0, 1), barrier(1), store(0, 2), barrier(2),
                        store(0, 3), barrier(3), store(0, 4), barrier(4)};
  const Program other = {barrier(1), barrier(2), load(0), barrier(3), barrier(4), load(0)};
  for (const bool is_direct : {false, true}) {
    auto world = world_of({home, other}, 2, 1, {}, {.is_direct = is_direct});
    run(*world, [](std::size_t) { return 0; });
    EXPECT_EQ(world->rank(0).pages.counts().intervals, 1u) << "the one behind the other's load";
  }
}

// [DSM-PAGE-10]: the other rank comes at each moment of the home's intervals.
TEST(AllOrders, APageThatWasPrivateIsSeenWithItsLaterStores) {
  const Program home = {acquire(3),  store(0, 1), release(3), acquire(3),
                        store(0, 2), release(3),  barrier(1), load(1)};
  const Program other = {acquire(3), load(0), store(1, 5), release(3), barrier(1), load(0)};
  EXPECT_GT(run_all_orders({home, other}), 20u);
  EXPECT_GT(run_all_orders({home, other}, {}, direct), 20u);
}

// [DSM-START-1]
TEST(Homes, OnlyPagesOfTheReplayAreAskedForAtRank0) {
  // page 1, whose directory is rank 1
  const Program other = {load(words_a_page)};
  EXPECT_EQ(run_in_turn({{}, other}, 2)->messages, 0u);
  EXPECT_EQ(run_in_turn({{}, other}, 2, std::vector<Word>(2 * words_a_page, 3))->messages, 2u);
}

// A later choice leaves the rest of an earlier one. [DSM-PAGE-1]
TEST(Homes, TheLastChoiceForAPageCounts) {
  constexpr std::size_t pages = 8;
  World world(3, pages);
  for (Rank rank = 0; rank < 3; rank++) {
    Pages& at = world.rank(rank).pages;
    at.place(0, 6, 1);
    at.place(2, 2, 0);
    at.place(3, 4, 2);
    at.place(7, 0, 0);
  }
  const Rank homes[pages] = {1, 1, 0, 2, 2, 2, 2, 0};
  Program stores;
  for (std::uint64_t page = 0; page < pages; page++) {
    stores.push_back(store(page * words_a_page, 5));
  }
  world.rank(0).add_thread(stores);
  run(world, [](std::size_t) { return 0; });
  const auto away = std::ranges::count_if(homes, [](Rank home) { return home != 0; });
  EXPECT_EQ(world.rank(0).twins_made(), static_cast<std::size_t>(away));
  for (std::uint64_t page = 0; page < pages; page++) {
    const bool is_there = world.rank(homes[page]).pages.is_at_home(page);
    EXPECT_TRUE(is_there) << "page " << page;
  }
}

// A barrier brings the manager the intervals of all, and is one synchronisation all the same: 7
// barriers are 14 periods. [DSM-COPY-2]
TEST(Copies, TheManagerKeepsAStaleCopyAsLongAsOthers) {
  constexpr Rank ranks = 5;
  World world(ranks, ranks);
  for (Rank rank = 0; rank < ranks; rank++) {
    Program program = {barrier(1)};
    // The next rank reads what this one writes.
    program.push_back(load((rank + 1u) % ranks * words_a_page));
    program.push_back(barrier(2));
    for (Word value = 1; value <= 7; value++) {
      program.push_back(store(rank * words_a_page, value));
      program.push_back(barrier(value + 2));
    }
    for (Rank each = 0; each < ranks; each++) world.rank(rank).pages.place(each, 1, each);
    world.rank(rank).add_thread(program);
  }
  run(world, [](std::size_t) { return 0; });
  for (Rank rank = 0; rank < ranks; rank++) {
    EXPECT_EQ(world.rank(rank).pages.counts().copies, 1u) << "at rank " << rank;
    EXPECT_EQ(world.rank(rank).pages.counts().stale_given_back, 0u) << "at rank " << rank;
  }
}

// The second page is fetched ahead with the first, and never touched. It is valid for many periods
// before it is stale again. [DSM-COPY-1] [DSM-COPY-2]
TEST(Copies, ThoseFetchedAheadAreGivenBackToo) {
  constexpr std::uint64_t second = words_a_page, third = 2 * words_a_page;
  constexpr Word barriers = 40, stored_again = 20;
  World world(2, 3);
  Program home = {barrier(1), store(0, 1), store(second, 1), barrier(2)};
  Program reader = {load(0), load(second), load(third), barrier(1), barrier(2), load(0)};
  for (Word value = 1; value <= barriers; value++) {
    if (value == stored_again) append(&home, {store(0, 2), store(second, 2)});
    append(&home, {store(third, value), barrier(2 + value)});
    append(&reader, {barrier(2 + value)});
  }
  for (Rank rank = 0; rank < 2; rank++) {
    world.rank(rank).pages.place(0, 3, 0);
    world.rank(rank).pages.look_ahead_from(0);
  }
  world.rank(0).add_thread(home);
  world.rank(1).add_thread(reader);
  run(world, [](std::size_t) { return 0; });
  EXPECT_EQ(world.rank(1).pages.counts().copies, 0u);
}

// [DSM-COPY-2]
TEST(Copies, ASynchronisationGivesSomeBackAndTheNextOnesTheRest) {
  constexpr std::size_t pages = 1100, at_once = 1024;
  for (const int more : {1, 2}) {
    World world(2, pages);
    Program home = {barrier(1)}, reader;
    for (std::uint64_t page = 0; page < pages; page++) {
      reader.push_back(load(page * words_a_page));
      home.push_back(store(page * words_a_page, 1));
    }
    append(&home, {barrier(2)});
    append(&reader, {barrier(1), barrier(2)});
    for (int i = 0; i < more; i++) {
      append(&home, {store(0, 2 + i), barrier(3 + i)});
      append(&reader, {barrier(3 + i)});
    }
    for (Rank rank = 0; rank < 2; rank++) world.rank(rank).pages.place(0, pages, 0);
    world.rank(1).pages.give_back_after(1);
    world.rank(0).add_thread(home);
    world.rank(1).add_thread(reader);
    run(world, [](std::size_t) { return 0; });
    EXPECT_EQ(world.rank(1).pages.counts().stale_given_back, more == 1 ? at_once : pages);
  }
}

// The home stores to two pages, later to the first one only. The second one soon counts as written
// no more, though it was opened with the first one. [DSM-COPY-1]
TEST(Homes, APageThatIsNotStoredToAnyMoreIsNotFetchedAgain) {
  constexpr std::uint64_t second = words_a_page;
  constexpr Word rounds = 20, both = 3;
  World world(2, 2);
  Program home = {barrier(1000)};
  Program reader = {load(0), load(second), barrier(1000)};
  for (Word round = 1; round <= rounds; round++) {
    home.push_back(store(0, round));
    if (round <= both) home.push_back(store(second, round));
    append(&home, {barrier(2 * round), barrier(2 * round + 1)});
    append(&reader, {barrier(2 * round), load(0), load(second), barrier(2 * round + 1)});
  }
  for (Rank rank = 0; rank < 2; rank++) {
    Pages& pages = world.rank(rank).pages;
    pages.use(&world.rank(rank));
    pages.place(0, 2, 0);
    pages.look_ahead_from(0);
  }
  world.rank(0).add_thread(home);
  world.rank(1).add_thread(reader);
  run(world, [](std::size_t) { return 0; });
  constexpr std::size_t first_loads = 2, ahead_most = 2;
  EXPECT_GT(world.rank(0).pages.counts().opened_ahead, 0u);
  EXPECT_LE(world.rank(1).pages.counts().direct_reads, first_loads + rounds + both + ahead_most);
}

// What rank 1 stored in the replay is dropped, also where rank 0 stored nothing. [DSM-START-1]
TEST(Homes, TheBytesOfOtherRanksInTheReplayAreDropped) {
  auto world = std::make_unique<World>(Rank{2}, 1);
  world->rank(1).store_initially(0, 9);
  for (Rank rank = 0; rank < 2; rank++) world->rank(rank).pages.begin({}, 1);
  world->rank(1).add_thread({load(0)});
  run(*world, [](std::size_t) { return 0; });
}

// Rank 0 has arrived; so has a thread of rank 1, whose other thread then stores under a lock. Rank
// 2 sees the store under the lock before it arrives. [DSM-BARRIER-1] [DSM-TIME-1]
TEST(Barriers, BringWhatARankLearnedByALockBeforeItArrived) {
  const Program first = {acquire(3), load(0), release(3), barrier(1), load(0)};
  const Program arrives = {barrier(1)};
  const Program stores = {acquire(3), store(0, 7), release(3)};
  const Program sees = {acquire(3), load(0), release(3), barrier(1)};
  World world(3, 1);
  for (Rank rank = 0; rank < 3; rank++) world.rank(rank).pages.place(0, 1, 1);
  world.rank(0).add_thread(first);
  world.rank(1).add_thread(arrives);
  world.rank(1).add_thread(stores);
  world.rank(2).add_thread(sees);
  const auto deliver_all = [&] {
    for (bool is_quiet = false; !is_quiet;) {
      is_quiet = true;
      for (const Choice& each : world.choices()) {
        if (each.kind == Choice::Kind::step) continue;
        world.take(each);
        is_quiet = false;
        break;
      }
    }
  };
  const auto run_until_it_waits = [&](Rank rank, std::size_t thread) {
    while (world.rank(rank).may_step(thread) && !HasFailure()) {
      world.rank(rank).step(thread);
      deliver_all();
    }
  };
  run_until_it_waits(0, 0);
  run_until_it_waits(1, 0);
  run_until_it_waits(1, 1);
  run_until_it_waits(2, 0);
  run_until_it_waits(0, 0);
  EXPECT_TRUE(world.is_done());
}

// [DSM-BARRIER-1]
TEST(Barriers, ASecondThreadOfARankThatArrivesIsNamed) {
  auto world = world_of({{barrier(1)}, {}, {barrier(1)}, {}}, 2, 1);
  while (!world->choices().empty()) world->take(world->choices().front());
  EXPECT_EQ(world->rank(0).mismatches, std::vector<std::string>{"0: twice at 1"});
}

// [DSM-BARRIER-3]
TEST(Barriers, RanksAtDifferentBarriersAreNamed) {
  auto world = world_of({{barrier(1)}, {barrier(2)}}, 2, 1);
  while (!world->choices().empty()) world->take(world->choices().front());
  EXPECT_EQ(world->rank(0).mismatches, std::vector<std::string>{"1: 2 and 1"});
}

}  // namespace
}  // namespace iw::dsm
