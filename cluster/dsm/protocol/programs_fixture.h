// Programs of loads, stores, locks and barriers, and the worlds that run them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "dsm/protocol/orders_fixture.h"
#include "dsm/protocol/world_fixture.h"

namespace iw::dsm {

using Kind = Step::Kind;
using Program = std::vector<Step>;

inline Step load(std::uint64_t word) { return {Kind::load, word, 0}; }
inline Step store(std::uint64_t word, Word value) { return {Kind::store, word, value}; }
inline Step acquire(LockId lock) { return {Kind::acquire, lock, 0}; }
inline Step try_acquire(LockId lock) { return {Kind::try_acquire, lock, 0}; }
inline Step release(LockId lock) { return {Kind::release, lock, 0}; }
inline Step barrier(BarrierId number) { return {Kind::barrier, number, 0}; }

inline void append(Program* program, const Program& more) {
  program->insert(program->end(), more.begin(), more.end());
}

// What may differ between jobs.
struct Switches {
  bool is_direct = false;
  Rank fan_in = 0;
  DiffOptions diffs{};
  std::size_t kept_locks = Locks::kept_usual;
};
inline constexpr Switches direct{.is_direct = true};
// A page here is smaller than a diff's head.
inline constexpr std::size_t diffs_of_a_page_most = 4096;

// Each program is a thread of the rank with its number, and a second round of programs makes second
// threads. Rank 0 wrote `initial` in the replay, one word after the other.
inline std::unique_ptr<World> world_of(const std::vector<Program>& programs, Rank ranks,
                                       std::size_t pages, const std::vector<Word>& initial = {},
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
inline void expect_clean(World& world) {
  for (Rank rank = 0; rank < world.size(); rank++) {
    EXPECT_EQ(world.rank(rank).twins(), 0u);
    EXPECT_EQ(world.rank(rank).pages.log().size(), 0u);
    EXPECT_EQ(world.rank(rank).pages.log().bytes(), 0u);
  }
}

inline void run(World& world, const std::function<std::size_t(std::size_t)>& choose) {
  for (;;) {
    const std::vector<Choice> choices = world.choices();
    if (choices.empty() || ::testing::Test::HasFailure()) break;
    world.take(choices[choose(choices.size())]);
  }
  if (world.is_done()) return;
  for (Rank rank = 0; rank < world.size(); rank++) {
    ADD_FAILURE() << "rank " << rank << " waits for: " << world.rank(rank).waits();
  }
}

// Returns how many orders of steps and arrivals there are that can make a difference.
inline std::size_t run_all_orders(
    const std::vector<Program>& programs, const std::vector<Word>& initial = {},
    const Switches& switches = {}, Rank ranks = 2,
    const std::function<void(World&)>& seen = [](World&) {}) {
  constexpr std::size_t pages = 1;
  return OrdersOfAWorld([&] { return world_of(programs, ranks, pages, initial, switches); },
                        !switches.is_direct)
      .run(seen);
}

}  // namespace iw::dsm
