// Pages, locks and barriers together: programs without data races see one memory, in whatever order
// the messages arrive.
#include "dsm/protocol/world_fixture.h"
#include "testing/seed.h"

namespace iw::dsm {
namespace {

using Kind = Step::Kind;
using Program = std::vector<Step>;

Step load(std::uint64_t word) { return {Kind::load, word, 0}; }
Step store(std::uint64_t word, Word value) { return {Kind::store, word, value}; }
Step acquire(LockId lock) { return {Kind::acquire, lock, 0}; }
Step try_acquire(LockId lock) { return {Kind::try_acquire, lock, 0}; }
Step release(LockId lock) { return {Kind::release, lock, 0}; }
Step barrier(BarrierId number) { return {Kind::barrier, number, 0}; }

void append(Program* program, const Program& more) {
  program->insert(program->end(), more.begin(), more.end());
}

// Each program is a thread of the rank with its number, and a second round of programs makes second
// threads. Rank 0 wrote `initial` in the replay, one word after the other.
std::unique_ptr<World> world_of(const std::vector<Program>& programs, Rank ranks, std::size_t pages,
                                const std::vector<Word>& initial = {}, bool is_direct = false) {
  auto world = std::make_unique<World>(ranks, pages);
  std::vector<PageNumber> written;
  for (std::uint64_t word = 0; word < initial.size(); word++) {
    world->rank(0).store_initially(word, initial[word]);
    world->truth[word] = initial[word];
    if (word % words_a_page == 0) written.push_back(word / words_a_page);
  }
  for (std::size_t i = 0; i < programs.size(); i++) world->rank(i % ranks).add_thread(programs[i]);
  for (Rank rank = 0; rank < ranks; rank++) {
    if (is_direct) world->rank(rank).pages.use(&world->rank(rank));
    world->rank(rank).pages.begin(written, written.size());
  }
  return world;
}

// Nothing of the intervals is left once all have passed the last barrier.
void expect_clean(World& world) {
  for (Rank rank = 0; rank < world.size(); rank++) {
    EXPECT_EQ(world.rank(rank).twins(), 0u);
    EXPECT_EQ(world.rank(rank).pages.log().size(), 0u);
    EXPECT_EQ(world.rank(rank).pages.log().bytes(), 0u);
  }
}

void run(World& world, const std::function<std::size_t(std::size_t)>& choose) {
  for (;;) {
    const std::vector<Choice> choices = world.choices();
    if (choices.empty() || ::testing::Test::HasFailure()) break;
    world.take(choices[choose(choices.size())]);
  }
  ASSERT_TRUE(world.is_done()) << "all ranks wait";
}

// Runs the programs in every order of steps and arrivals. Returns how many there are.
std::size_t run_all_orders(const std::vector<Program>& programs,
                           const std::vector<Word>& initial = {}, bool is_direct = false) {
  constexpr Rank ranks = 2;
  constexpr std::size_t pages = 1;
  struct Turn {
    std::size_t taken;
    std::size_t of;
  };
  std::vector<Turn> path;
  std::size_t orders = 0;
  do {
    std::size_t depth = 0;
    auto world = world_of(programs, ranks, pages, initial, is_direct);
    run(*world, [&](std::size_t of) {
      if (depth == path.size()) path.push_back({0, of});
      return path[depth++].taken;
    });
    if (::testing::Test::HasFailure()) {
      std::string order;
      for (const Turn& each : path) order += std::to_string(each.taken) + " ";
      ADD_FAILURE() << "in the order " << order;
      return orders;
    }
    orders++;
    while (!path.empty() && path.back().taken + 1 == path.back().of) path.pop_back();
    if (!path.empty()) path.back().taken++;
  } while (!path.empty());
  return orders;
}

// [DSM-BARRIER-1] [DSM-BARRIER-2] [DSM-PAGE-4] [DSM-TIME-1]
TEST(AllOrders, AStoreBeforeABarrierIsSeenAfterIt) {
  const Program writer = {store(0, 7), barrier(1), load(0)};
  const Program reader = {barrier(1), load(0)};
  EXPECT_GT(run_all_orders({writer, reader}, {5}), 40u);
  EXPECT_GT(run_all_orders({reader, writer}, {5}), 20u);
}

// [DSM-DIFF-1] [DSM-PAGE-3] [DSM-PAGE-6]
TEST(AllOrders, TwoWritersOfAPageMergeAtABarrier) {
  const Program even = {store(0, 1), barrier(1), load(1)};
  const Program odd = {store(1, 2), barrier(1), load(0)};
  EXPECT_GT(run_all_orders({even, odd}), 1000u);
}

// The rank's copy is stale, and the rank has written to the page itself. [DSM-PAGE-5] [DSM-PAGE-7]
TEST(AllOrders, AWriterSeesItsOwnStoresInThePageThatItFetchesAgain) {
  const Program home = {load(0), barrier(1), acquire(3), store(0, 1), release(3)};
  const Program other = {barrier(1), acquire(4), store(1, 2), release(4),
                         acquire(3), load(0),    load(1),     release(3)};
  EXPECT_GT(run_all_orders({home, other}), 1000u);
}

// [DSM-LOCK-1] [DSM-LOCK-2] [DSM-LOCK-4]
TEST(AllOrders, ACounterUnderALockCountsEachSection) {
  const Program section = {acquire(3), load(0), store(0, 9), release(3)};
  EXPECT_GT(run_all_orders({section, section}, {5}), 30u);
}

// [DSM-LOCK-5]
TEST(AllOrders, ALockThatIsTriedIsHeldByOneRank) {
  const Program tries = {try_acquire(3), load(0), store(0, 9), release(3)};
  const Program waits = {acquire(3), load(0), store(0, 8), release(3)};
  EXPECT_GT(run_all_orders({tries, waits}), 40u);
  EXPECT_GT(run_all_orders({waits, tries}), 40u);
}

// [DSM-LOCK-3]: both locks bring what was written under either.
TEST(AllOrders, ALockInsideOfAnotherBringsTheStoresUnderBoth) {
  const Program nests = {acquire(3), store(0, 1), acquire(4), store(1, 2), release(4), release(3)};
  const Program follows = {acquire(3), load(0), acquire(4), load(1), release(4), release(3)};
  EXPECT_GT(run_all_orders({nests, follows}), 50u);
}

// [DSM-LOCK-6]
TEST(AllOrders, ALockThatIsHeldOverABarrierBringsTheStoresOnBothSides) {
  const Program holds = {acquire(3), store(0, 1), barrier(1), store(1, 2), release(3)};
  const Program waits = {barrier(1), acquire(3), load(0), load(1), store(0, 3), release(3)};
  EXPECT_GT(run_all_orders({holds, waits}), 50u);
  EXPECT_GT(run_all_orders({waits, holds}), 50u);
}

// The second thread waits for the first one's lock, and for another rank's.
TEST(AllOrders, TwoThreadsOfARankTakeTurnsWithAnotherRank) {
  const Program section = {acquire(3), load(0), store(0, 9), release(3)};
  EXPECT_GT(run_all_orders({section, section, section, {}}, {5}), 100u);
}

// A random program of sections under locks, in phases that barriers end. Lock number i protects
// the words that are i modulo the locks, so each page is written by several ranks at a time.
struct Shape {
  Rank ranks;
  std::size_t threads;  // of a rank
  std::size_t pages;
  LockId locks;
  int phases;
  int sections;
};

Program random_section(std::mt19937& random, const Shape& shape, LockId lock) {
  const std::uint64_t words = shape.pages * words_a_page;
  Program section = {random() % 4 == 0 ? try_acquire(lock) : acquire(lock)};
  if (lock + 2 < shape.locks && random() % 4 == 0) {
    append(&section, random_section(random, shape, lock + 1));
  }
  for (int i = random() % 5; i > 0; i--) {
    const std::uint64_t word = random() % words / shape.locks * shape.locks + lock;
    if (word >= words) continue;
    section.push_back(random() % 2 == 0 ? load(word)
                                        : store(word, static_cast<Word>(random() % 3)));
  }
  section.push_back(release(lock));
  return section;
}

// The first thread of each rank goes through the barriers. The others run sections meanwhile, but
// on words of their own, because the first threads load all others between two barriers.
std::vector<Program> random_programs(std::mt19937& random, const Shape& shape) {
  std::vector<Program> programs(shape.ranks);
  for (int phase = 0; phase < shape.phases; phase++) {
    for (Program& program : programs) {
      for (int i = random() % (shape.sections + 1); i > 0; i--) {
        append(&program, random_section(random, shape, random() % (shape.locks - 1)));
      }
      // One rank holds the other threads' lock over the barrier.
      const bool is_holder = &program == &programs[phase % shape.ranks] && random() % 2 == 0;
      const std::uint64_t word_of_others = shape.locks - 1;
      if (is_holder) {
        append(&program, {acquire(shape.locks - 1), store(word_of_others, random() % 3)});
      }
      program.push_back(barrier(phase));
      if (is_holder) {
        append(&program, {load(word_of_others), store(word_of_others, random() % 3),
                          release(shape.locks - 1)});
      }
      for (std::uint64_t word = 0; word < shape.pages * words_a_page; word++) {
        if (word % shape.locks == shape.locks - 1) continue;
        if (random() % 4 == 0) program.push_back(load(word));
      }
      program.push_back(barrier(1000 + phase));
    }
  }
  for (std::size_t i = shape.ranks; i < shape.ranks * shape.threads; i++) {
    Program& program = programs.emplace_back();
    for (int section = random() % (2 * shape.sections); section > 0; section--) {
      append(&program, random_section(random, shape, shape.locks - 1));
    }
  }
  return programs;
}

// [DSM-PAGE-9]: in half of the worlds. [DSM-TIME-2]: other threads write while one acquires.
// [DSM-LOCK-6]: other threads ask for locks while one is in a barrier.
TEST(RandomWorlds, AProgramWithoutRacesSeesOneMemory) {
  std::mt19937 random = testing::seeded_random();
  std::size_t direct_reads = 0, opened_ahead = 0, evictions = 0, given_back = 0;
  for (int round = 0; round < 2000 && !HasFailure(); round++) {
    const Shape shape{static_cast<Rank>(1 + random() % 5),
                      1 + random() % 2,
                      1 + random() % 6,
                      2 + random() % 3,
                      static_cast<int>(1 + random() % 3),
                      6};
    std::vector<Word> initial(random() % (shape.pages * words_a_page + 1));
    for (Word& each : initial) each = 100 + random() % 3;
    const bool is_direct = random() % 2 == 0;
    auto world =
        world_of(random_programs(random, shape), shape.ranks, shape.pages, initial, is_direct);
    for (Rank rank = 0; rank < shape.ranks; rank++) {
      Pages& pages = world->rank(rank).pages;
      if (random() % 2 == 0) pages.look_ahead_from(0);
      if (random() % 2 == 0) pages.limit_copies(1 + random() % 3);
      if (random() % 2 == 0) pages.give_back_after(1 + random() % 4);
    }
    for (PageNumber page = 0; page < shape.pages; page++) {
      if (random() % 3 != 0) continue;
      const Rank home = random() % shape.ranks;
      for (Rank rank = 0; rank < shape.ranks; rank++) world->rank(rank).pages.place(page, 1, home);
    }
    run(*world, [&](std::size_t of) { return random() % of; });
    if (shape.threads == 1) expect_clean(*world);
    direct_reads += world->direct_reads;
    for (Rank rank = 0; rank < shape.ranks; rank++) {
      const PageCounts& counts = world->rank(rank).pages.counts();
      opened_ahead += counts.opened_ahead;
      evictions += counts.evictions;
      given_back += counts.stale_given_back;
    }
  }
  EXPECT_GT(direct_reads, 0u);
  EXPECT_GT(opened_ahead, 0u);
  EXPECT_GT(evictions, 0u);
  EXPECT_GT(given_back, 0u);
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
    auto world = world_of({home, other}, 2, 1, {}, is_direct);
    run(*world, [](std::size_t) { return 0; });
    EXPECT_EQ(world->rank(0).pages.counts().intervals, 1u) << "the one behind the other's load";
  }
}

// [DSM-PAGE-10]: the other rank comes at each moment of the home's intervals.
TEST(AllOrders, APageThatWasPrivateIsSeenWithItsLaterStores) {
  const Program home = {acquire(3),  store(0, 1), release(3), acquire(3),
                        store(0, 2), release(3),  barrier(1), load(1)};
  const Program other = {acquire(3), load(0), store(1, 5), release(3), barrier(1), load(0)};
  EXPECT_GT(run_all_orders({home, other}), 100u);
  EXPECT_GT(run_all_orders({home, other}, {}, true), 100u);
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
