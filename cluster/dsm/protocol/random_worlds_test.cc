// Random programs without data races see one memory, whatever the switches, and in whatever order
// the messages arrive.
#include <string>

#include "dsm/protocol/programs_fixture.h"
#include "testing/seed.h"

namespace iw::dsm {
namespace {

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
  return 6000;
#endif
}

Switches random_switches(std::mt19937& random) {
  Switches switches;
  switches.is_direct = random() % 2 == 0;
  switches.fan_in = static_cast<Rank>(random() % 4);
  // Diffs of a page or two, or none.
  switches.diffs = {random() % 2 == 0, random() % 2 == 0, random() % 5 * 400};
  if (random() % 2 == 0) switches.kept_locks = random() % 2;
  return switches;
}

// That the worlds had what they are to test.
struct Seen {
  std::size_t direct_reads = 0, locks_given_back = 0;
  PageCounts all;

  void look_at(World& world) {
    direct_reads += world.direct_reads;
    locks_given_back += world.locks_given_back;
    for (Rank rank = 0; rank < world.size(); rank++) {
      const PageCounts counts = world.rank(rank).pages.counts();
      all.opened_ahead += counts.opened_ahead;
      all.evictions += counts.evictions;
      all.stale_given_back += counts.stale_given_back;
      all.pulls += counts.pulls;
      all.writer_reads += counts.writer_reads;
    }
  }
  void expect_all() const {
    for (const std::uint64_t each :
         {std::uint64_t{direct_reads}, std::uint64_t{locks_given_back}, all.opened_ahead,
          all.evictions, all.stale_given_back, all.pulls, all.writer_reads}) {
      EXPECT_GT(each, 0u);
    }
  }
};

void place_some(std::mt19937& random, const Shape& shape, World& world) {
  const auto place = [&](PageNumber first, std::size_t count, Rank home, bool is_by_turns) {
    for (Rank rank = 0; rank < shape.ranks; rank++) {
      world.rank(rank).pages.place(first, count, home, is_by_turns);
    }
  };
  if (random() % 4 == 0) place(0, shape.pages, random() % shape.ranks, true);
  for (PageNumber page = 0; page < shape.pages; page++) {
    if (random() % 3 == 0) place(page, 1, random() % shape.ranks, false);
  }
}

// [DSM-PAGE-9]: in half of the worlds. [DSM-TIME-2]: other threads write while one acquires.
// [DSM-LOCK-6]: other threads ask for locks while one is in a barrier.
TEST(RandomWorlds, AProgramWithoutRacesSeesOneMemory) {
  std::mt19937 random = testing::seeded_random();
  Seen seen;
  const int rounds = static_cast<int>(random_rounds());
  for (int round = 0; round < rounds && !HasFailure(); round++) {
    SCOPED_TRACE("round " + std::to_string(round));
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
    for (Rank rank = 0; rank < shape.ranks; rank++) {
      Pages& pages = world->rank(rank).pages;
      if (random() % 2 == 0) pages.look_ahead_from(0);
      if (random() % 2 == 0) pages.limit_copies(1 + random() % 3);
      if (random() % 2 == 0) pages.give_back_after(1 + random() % 4);
    }
    place_some(random, shape, *world);
    run(*world, [&](std::size_t of) { return random() % of; });
    if (shape.threads == 1) expect_clean(*world);
    seen.look_at(*world);
  }
  seen.expect_all();
}

}  // namespace
}  // namespace iw::dsm
