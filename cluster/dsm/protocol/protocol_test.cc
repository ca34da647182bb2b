// Pages, locks and barriers together: programs without data races see one memory, in whatever order
// the messages arrive.
#include "dsm/protocol/orders_fixture.h"
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

// What may differ between jobs.
struct Switches {
  bool is_direct = false;
  Rank fan_in = 0;
  DiffOptions diffs{};
  std::size_t kept_locks = Locks::kept_usual;
};
constexpr Switches direct{.is_direct = true};
constexpr std::size_t diffs_of_a_page_most = 4096;  // a page here is smaller than a diff's head

// Each program is a thread of the rank with its number, and a second round of programs makes second
// threads. Rank 0 wrote `initial` in the replay, one word after the other.
std::unique_ptr<World> world_of(const std::vector<Program>& programs, Rank ranks, std::size_t pages,
                                const std::vector<Word>& initial = {},
                                const Switches& switches = {}) {
  auto world = std::make_unique<World>(ranks, pages, switches.fan_in);
  std::vector<PageNumber> written;
  for (std::uint64_t word = 0; word < initial.size(); word++) {
    world->rank(0).store_initially(word, initial[word]);
    world->truth[word] = initial[word];
    if (word % words_a_page == 0) written.push_back(word / words_a_page);
  }
  for (std::size_t i = 0; i < programs.size(); i++) world->rank(i % ranks).add_thread(programs[i]);
  for (Rank rank = 0; rank < ranks; rank++) {
    if (switches.is_direct) world->rank(rank).pages.use(&world->rank(rank));
    world->rank(rank).pages.use(switches.diffs, diffs_of_a_page_most);
    world->rank(rank).locks.keep(switches.kept_locks);
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

// Returns how many orders of steps and arrivals there are that can make a difference.
std::size_t run_all_orders(
    const std::vector<Program>& programs, const std::vector<Word>& initial = {},
    const Switches& switches = {}, Rank ranks = 2,
    const std::function<void(World&)>& seen = [](World&) {}) {
  constexpr std::size_t pages = 1;
  return OrdersOfAWorld([&] { return world_of(programs, ranks, pages, initial, switches); },
                        !switches.is_direct)
      .run(seen);
}

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

// Sanitizers take ten times as long, and the plain build has them all.
std::size_t random_rounds() {
#if defined(__SANITIZE_ADDRESS__)
  return 300;
#else
  return 2000;
#endif
}

Switches random_switches(std::mt19937& random) {
  Switches switches;
  switches.is_direct = random() % 2 == 0;
  switches.fan_in = static_cast<Rank>(random() % 4);
  switches.diffs = {random() % 2 == 0, random() % 2 == 0, random() % 3 * 60};
  if (random() % 2 == 0) switches.kept_locks = random() % 2;
  return switches;
}

// [DSM-PAGE-9]: in half of the worlds. [DSM-TIME-2]: other threads write while one acquires.
// [DSM-LOCK-6]: other threads ask for locks while one is in a barrier.
TEST(RandomWorlds, AProgramWithoutRacesSeesOneMemory) {
  std::mt19937 random = testing::seeded_random();
  std::size_t direct_reads = 0, given_back = 0, pulls = 0, writer_reads = 0;
  const int rounds = static_cast<int>(random_rounds());
  for (int round = 0; round < rounds && !HasFailure(); round++) {
    const Shape shape{static_cast<Rank>(1 + random() % 7),
                      1 + random() % 2,
                      1 + random() % 6,
                      2 + random() % 3,
                      static_cast<int>(1 + random() % 3),
                      6};
    std::vector<Word> initial(random() % (shape.pages * words_a_page + 1));
    for (Word& each : initial) each = 100 + random() % 3;
    const Switches switches = random_switches(random);
    auto world =
        world_of(random_programs(random, shape), shape.ranks, shape.pages, initial, switches);
    for (PageNumber page = 0; page < shape.pages; page++) {
      if (random() % 3 != 0) continue;
      const Rank home = random() % shape.ranks;
      for (Rank rank = 0; rank < shape.ranks; rank++) world->rank(rank).pages.place(page, 1, home);
    }
    run(*world, [&](std::size_t of) { return random() % of; });
    if (shape.threads == 1) expect_clean(*world);
    direct_reads += world->direct_reads;
    given_back += world->locks_given_back;
    for (Rank rank = 0; rank < shape.ranks; rank++) {
      pulls += world->rank(rank).pages.counts().pulls;
      writer_reads += world->rank(rank).pages.counts().writer_reads;
    }
  }
  EXPECT_GT(direct_reads, 0u);
  EXPECT_GT(given_back, 0u);
  EXPECT_GT(pulls, 0u);
  EXPECT_GT(writer_reads, 0u);
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

// [DSM-START-1]
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

// [DSM-PULL-1] The home asks: for itself, for a reader, and for nothing that it has.
TEST(AllOrders, DiffsThatStayAtTheirWriterAreSeen) {
  constexpr Switches pulls{.diffs = {.are_pulled = true}};
  const auto is_pulled = [](World& world) { EXPECT_EQ(world.diffs, 1u); };
  const Program home = {load(0), barrier(1), barrier(2), load(0)};
  const Program writes = {barrier(1), store(0, 7), barrier(2), load(0)};
  EXPECT_GT(run_all_orders({home, writes}, {}, pulls, 2, is_pulled), 3u);
  const Program keeps = {load(0), barrier(1), barrier(2)};
  const Program reads = {barrier(1), barrier(2), load(0)};
  EXPECT_GT(run_all_orders({keeps, writes, reads}, {}, pulls, 3), 3u);
  const auto stays = [](World& world) { EXPECT_EQ(world.diffs, 0u); };
  const Program only_writes = {barrier(1), store(0, 7), barrier(2)};
  EXPECT_GT(run_all_orders({keeps, only_writes}, {}, pulls, 2, stays), 3u);
}

// Two intervals under a lock, and the writer's own page again.
TEST(AllOrders, ALockBringsDiffsThatStayAtTheirWriter) {
  constexpr Switches pulls{.diffs = {.are_pulled = true}};
  const Program home = {load(0), barrier(1), acquire(3), store(0, 1), release(3)};
  const Program other = {barrier(1), acquire(4), store(1, 2), release(4),
                         acquire(3), load(0),    load(1),     release(3)};
  EXPECT_GT(run_all_orders({home, other}, {}, pulls), 20u);
}

// [DSM-PULL-2]
TEST(AllOrders, AReaderThatLacksOneWritersDiffsAsksTheWriter) {
  constexpr Switches reads_writers{.diffs = {.are_read_at_writers = true}};
  std::size_t reads = 0;
  const auto count = [&](World& world) { reads += world.rank(1).pages.counts().writer_reads; };
  const Program home = {load(0), barrier(1), barrier(2)};
  const Program reader = {load(0), barrier(1), barrier(2), load(0), load(1)};
  const Program writer = {barrier(1), store(0, 7), store(1, 8), barrier(2)};
  EXPECT_GT(run_all_orders({home, reader, writer}, {}, reads_writers, 3, count), 20u);
  EXPECT_GT(reads, 0u);
}

// A rank that has a diff from its writer stores behind it. The home gets the two in their order.
TEST(AllOrders, AStoreBehindADiffThatWasReadAtItsWriterComesToTheHomeBehindIt) {
  Switches both{.diffs = {.are_pulled = true, .are_read_at_writers = true}};
  const Program home = {load(0), barrier(1), barrier(2), barrier(3), load(0)};
  const Program first = {barrier(1), store(0, 7), barrier(2), barrier(3)};
  const Program second = {barrier(1), load(1), barrier(2), load(0), store(0, 8), barrier(3)};
  EXPECT_GT(run_all_orders({home, first, second}, {}, both, 3), 5u);
  both.diffs.are_pulled = false;
  EXPECT_GT(run_all_orders({home, first, second}, {}, both, 3), 5u);
}

// The writer keeps no diff, so the home is asked after all. [DSM-PULL-2]
TEST(Diffs, ThatTheWriterHasNoMoreComeFromTheHome) {
  Switches forgets{.diffs = {.are_read_at_writers = true, .kept_bytes_most = 0}};
  const Program home = {load(0), barrier(1), barrier(2), barrier(3)};
  const Program reader = {barrier(1), load(0), barrier(2), barrier(3), load(0)};
  const Program writer = {barrier(1), barrier(2), store(0, 7), barrier(3)};
  auto world = world_of({home, reader, writer}, 3, 1, {}, forgets);
  run(*world, [](std::size_t) { return 0; });
  EXPECT_EQ(world->rank(1).pages.counts().writer_reads, 0u);
  EXPECT_EQ(world->rank(2).pages.counts().kept_bytes, 0u);
}

// More than may be kept go to the home. [DSM-PULL-1]
TEST(Diffs, ThatStayAtTheirWriterAreBounded) {
  Program writes = {barrier(0)};
  for (BarrierId number = 1; number <= 100; number++) {
    append(&writes, {store(number % 16, static_cast<Word>(number)), barrier(number)});
  }
  Program home = {load(0), load(4), load(8), load(12)};
  for (BarrierId number = 0; number <= 100; number++) home.push_back(barrier(number));
  constexpr std::size_t most = 1000;
  auto world =
      world_of({home, writes}, 2, 4, {}, {.diffs = {.are_pulled = true, .kept_bytes_most = most}});
  run(*world, [](std::size_t) { return 0; });
  const PageCounts counts = world->rank(1).pages.counts();
  EXPECT_LE(counts.kept_bytes, most);
  EXPECT_LT(counts.kept_bytes_most, 2 * most);
  EXPECT_GT(counts.kept_bytes, 0u);
  EXPECT_LT(world->diffs, 100u) << "some are kept still";
}

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
