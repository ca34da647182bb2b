// Small programs of real processes, whose results say whether the heap is one memory.
#include <interweave/dsm.h>

#include <ostream>
#include <utility>
#include <vector>

#include "dsm/node/node_fixture.h"
#include "testing/seed.h"

namespace iw::dsm {
namespace {

constexpr LockId first_lock = 1, second_lock = 2;

// The data comes with the lock that brings the flag. [DSM-TIME-2] [DSM-PAGE-4]
void pass_a_message(Member& at, std::uint64_t round) {
  const std::size_t data = 0, flag = at.page_words;
  if (at.me() == 0) {
    at.delay();
    at.words[data] = round;
    at.lock(first_lock);
    at.words[flag] = round;
    at.unlock(first_lock);
  } else {
    for (std::uint64_t seen = 0; seen != round;) {
      at.lock(first_lock);
      seen = at.words[flag];
      at.unlock(first_lock);
    }
    check(at.words[data] == round, "a store before the flag is seen", at.words[data]);
  }
}

// Each stores a word, then loads the other's: one of both sees a store.
void buffer_stores(Member& at, std::uint64_t round) {
  const std::size_t mine = at.me() % 2, results = 2 * at.page_words;
  if (at.me() < 2) {
    at.lock(first_lock);
    at.words[mine] = round;
    at.unlock(first_lock);
    at.delay();
    at.lock(first_lock);
    const std::uint64_t other = at.words[1 - mine];
    at.unlock(first_lock);
    at.words[results + mine] = other;
  }
  at.barrier();
  const std::uint64_t first = at.words[results], second = at.words[results + 1];
  check(first == round || second == round, "one of two sees the other's store", first);
}

// [DSM-LOCK-1] [DSM-LOCK-2]
void count(Member& at, std::uint64_t round) {
  constexpr int adds = 20;
  const std::size_t counter = 3 * at.page_words + 5;
  for (int i = 0; i < adds; i++) {
    at.lock(second_lock);
    at.words[counter] = at.words[counter] + 1;
    at.unlock(second_lock);
    if (i % 4 == 0) at.delay();
  }
  at.barrier();
  check(at.words[counter] == round * adds * at.ranks(), "each addition counts", at.words[counter]);
}

// Words of all ranks side by side. [DSM-DIFF-1] [DSM-PAGE-3]
void share_pages(Member& at, std::uint64_t round) {
  constexpr std::size_t pages = 4;
  const std::size_t first = 8 * at.page_words, count = pages * at.page_words;
  for (std::size_t i = at.me(); i < count; i += at.ranks()) at.words[first + i] = round + i;
  at.delay();
  at.barrier();
  for (std::size_t i = 0; i < count; i++) {
    check(at.words[first + i] == round + i, "each rank's words are in the page",
          at.words[first + i]);
  }
}

// The ranks take turns with pages behind those of the other programs, if the test wants more. All
// load all. [DSM-COPY-1] [DSM-COPY-2]
void share_many_pages(Member& at, std::uint64_t round) {
  const std::size_t first = litmus_pages * at.page_words;
  const std::size_t count = number_of_environment("IW_LITMUS_MORE_PAGES", 0) * at.page_words;
  for (std::size_t i = 0; i < count; i++) {
    if ((i / at.page_words + round) % at.ranks() == at.me()) at.words[first + i] = round + i;
  }
  at.delay();
  at.barrier();
  for (std::size_t i = 0; i < count; i++) {
    check(at.words[first + i] == round + i, "each page is one rank's", at.words[first + i]);
  }
}

// One rank after the other changes a page that all read. [DSM-BARRIER-1] [DSM-BARRIER-2]
void take_turns(Member& at, std::uint64_t round) {
  const std::size_t word = 16 * at.page_words;
  for (Rank turn = 0; turn < at.ranks(); turn++) {
    if (turn == at.me()) at.words[word + turn] = at.words[word + (turn + 1) % at.ranks()] + round;
    at.barrier();
    const std::uint64_t before = at.words[word + (turn + 1) % at.ranks()];
    check(at.words[word + turn] == before + round, "a turn is seen by all", before);
    at.barrier();
  }
}

// A value goes through all ranks, each of which reads it under one lock and passes it on under the
// next.
void hand_on(Member& at, std::uint64_t round) {
  const std::size_t cell = 20 * at.page_words;
  const LockId lock = 100 + at.me();
  const std::size_t mine = cell + at.me() * at.page_words;
  if (at.me() == 0) {
    at.lock(lock);
    at.words[mine] = round;
    at.words[mine + 1] = round * 7;
    at.unlock(lock);
    return;
  }
  const std::size_t before = mine - at.page_words;
  std::uint64_t seen = 0, value = 0;
  while (seen != round) {
    at.lock(lock - 1);
    seen = at.words[before];
    value = at.words[before + 1];
    at.unlock(lock - 1);
  }
  check(value == round * 7 + at.me() - 1, "what was handed on is whole", value);
  at.lock(lock);
  at.words[mine] = round;
  at.words[mine + 1] = value + 1;
  at.unlock(lock);
}

struct Program {
  const char* name;
  void (*run)(Member& at, std::uint64_t round);
};
constexpr Program programs[] = {{"pass_a_message", pass_a_message},
                                {"buffer_stores", buffer_stores},
                                {"count", count},
                                {"share_pages", share_pages},
                                {"share_many_pages", share_many_pages},
                                {"take_turns", take_turns},
                                {"hand_on", hand_on}};

}  // namespace

ROLE(litmus) {
  Member at;
  at.begin(litmus_pages + number_of_environment("IW_LITMUS_MORE_PAGES", 0));
  const std::uint64_t rounds = number_of_environment("IW_LITMUS_ROUNDS", 20);
  for (const Program& each : programs) {
    for (std::uint64_t round = 1; round <= rounds; round++) {
      each.run(at, round);
      at.barrier();
    }
    if (std::getenv("IW_LITMUS_SHOW") != nullptr) std::fprintf(stderr, "%s done\n", each.name);
  }
  if (std::getenv("IW_DSM_CACHE") != nullptr) {
    const PageCounts counts = at.node->stats().pages;
    check(counts.evictions > 0, "copies are given up");
    check(counts.opened_ahead > 0, "pages are opened ahead");
  }
  return at.finish();
}

// A turn goes around all ranks by conditions alone, through the public calls.
ROLE(litmus_conditions) {
  check(dsm_init(nullptr) == 0, "the job begins");
  auto* const turn = static_cast<volatile std::uint64_t*>(dsm_malloc(sizeof(std::uint64_t)));
  const auto me = static_cast<std::uint64_t>(dsm_rank());
  const auto ranks = static_cast<std::uint64_t>(dsm_size());
  check(dsm_barrier(1) == 0, "a barrier is passed");
  const std::uint64_t rounds = number_of_environment("IW_LITMUS_ROUNDS", 20);
  for (std::uint64_t round = 0; round < rounds; round++) {
    const std::uint64_t mine = round * ranks + me;
    check(dsm_lock(first_lock) == 0, "a lock is had");
    while (*turn != mine) check(dsm_cond_wait(me, first_lock) == 0, "a wait ends");
    *turn = mine + 1;
    check(dsm_cond_signal((me + 1) % ranks) == 0, "a signal is sent");
    check(dsm_unlock(first_lock) == 0, "a lock is released");
  }
  check(dsm_barrier(1) == 0, "a barrier is passed");
  check(*turn == rounds * ranks, "each rank had its turns", *turn);
  return dsm_finish() == 0 ? 0 : 2;
}

struct Case {
  const char* transport;
  Rank ranks;
  const char* page;
  // More pages than a rank may have copies of.
  bool is_limited = false;
  // Of the environment, with their values.
  std::vector<std::pair<const char*, const char*>> switches{};
  friend std::ostream& operator<<(std::ostream& out, const Case& each) {
    out << each.transport << ", " << each.ranks << " ranks, " << each.page << " a page"
        << (each.is_limited ? ", few copies" : "");
    for (const auto& [name, value] : each.switches) out << ", " << name << "=" << value;
    return out;
  }
};

// With more ranks than processors each has fewer rounds. So has each switch.
Environment environment_of(const Case& how) {
  constexpr Rank few = 4;
  std::mt19937 random = testing::seeded_random();
  constexpr std::uint64_t with_switches = 4;
  std::uint64_t rounds = number_of_environment("IW_LITMUS_ROUNDS", 20);
  if (!how.switches.empty()) rounds = rounds / with_switches + 1;
  Environment environment = {
      {"IW_FABRIC", how.transport},
      {"IW_DSM_PAGE", how.page},
      {"IW_LITMUS_ROUNDS", std::to_string(how.ranks <= few ? rounds : rounds / how.ranks + 1)},
      {"IW_SEED", std::to_string(random())}};
  if (how.is_limited) {
    environment["IW_DSM_CACHE"] = "256K";
    environment["IW_LITMUS_MORE_PAGES"] = "128";
  }
  for (const auto& [name, value] : how.switches) environment[name] = value;
  return environment;
}

// Pages come by messages: otherwise ranks of one machine would ask nobody.
const std::vector<std::pair<const char*, const char*>> all_switches[] = {
    {{"IW_DSM_DIRECT", "no"}, {"IW_DSM_PULL", "yes"}},
    {{"IW_DSM_DIRECT", "no"}, {"IW_DSM_FETCH", "writer"}},
    {{"IW_DSM_DIRECT", "no"},
     {"IW_DSM_PULL", "yes"},
     {"IW_DSM_FETCH", "writer"},
     {"IW_DSM_KEEP", "4K"}},
    {{"IW_DSM_FAN_IN", "1"}, {"IW_DSM_LOCKS", "2"}}};

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const char* transport : testing::transports({"shm", "tcp"})) {
    for (const Rank ranks : {2, 3, 4, 8}) all.push_back({transport, ranks, "4K"});
    for (const char* page : {"8K", "64K"}) all.push_back({transport, 3, page});
    all.push_back({transport, 3, "4K", true});
    for (const auto& each : all_switches) all.push_back({transport, 4, "4K", false, each});
  }
  all.push_back({testing::transports({"shm"}).front(), 16, "4K"});
  return all;
}

class Litmus : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Over, Litmus, ::testing::ValuesIn(all_cases()));

TEST_P(Litmus, ProgramsWithoutRacesSeeOneMemory) {
  TestJob("litmus", GetParam().ranks, environment_of(GetParam())).expect_success();
}

TEST_P(Litmus, ConditionsPassTurns) {
  TestJob("litmus_conditions", GetParam().ranks, environment_of(GetParam())).expect_success();
}

}  // namespace iw::dsm
