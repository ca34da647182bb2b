// A rank that is killed ends the job for all others, whatever they wait for. A rank that is stopped
// is waited for.
#include <csignal>
#include <tuple>

#include "dsm/node/node_fixture.h"

namespace iw::dsm {
namespace {

using fabric::Status;

constexpr Rank job_ranks = 3;
constexpr LockId lock_of_victim = 77;
enum class WaitsFor : int { barrier, lock, page, fault };

}  // namespace

// The victim has a lock and is the home of a page. The others want one of these, or a barrier.
ROLE(mortal) {
  const auto victim = static_cast<Rank>(number_of_environment("IW_TEST_VICTIM", 0));
  const auto what = static_cast<WaitsFor>(number_of_environment("IW_TEST_WAITS_FOR", 0));
  Member at;
  const Placement homes[] = {{0, 1, victim}};
  at.begin(litmus_pages, homes);
  if (at.me() == victim) {
    at.lock(lock_of_victim);
    at.words[0] = 1;
  }
  at.barrier();
  parent.say("ready");
  if (at.me() == victim) {
    parent.hear();
    return 9;
  }
  // The page is nowhere any more when the victim is dead.
  if (what == WaitsFor::page || what == WaitsFor::fault) {
    parent.hear();
  }
  Result result;
  if (what == WaitsFor::barrier) result = at.node->barrier(100);
  if (what == WaitsFor::lock) result = at.node->lock(lock_of_victim);
  if (what == WaitsFor::page) result = at.node->touch(0, 1, Access::write);
  if (what == WaitsFor::fault) at.words[0] = 2;
  check(result == Result{Status::peer_dead, victim}, "the dead rank is named", result.rank);
  check(at.node->lock(5) == result && at.node->barrier(6) == result && at.node->finish() == result,
        "so it is by each later call");
  return 0;
}

class Deaths : public ::testing::TestWithParam<std::tuple<const char*, int, WaitsFor>> {};
INSTANTIATE_TEST_SUITE_P(Of, Deaths,
                         ::testing::Combine(::testing::ValuesIn(testing::transports({"shm",
                                                                                     "tcp"})),
                                            ::testing::Values(0, 1),
                                            ::testing::Values(WaitsFor::barrier, WaitsFor::lock,
                                                              WaitsFor::page, WaitsFor::fault)));

// [DSM-END-2]
TEST_P(Deaths, EndTheJobForAllOthers) {
  const auto [transport, victim, what] = GetParam();
  TestJob job("mortal", job_ranks,
              {{"IW_FABRIC", transport},
               {"IW_DSM_DIRECT", "no"},
               {"IW_TEST_VICTIM", std::to_string(victim)},
               {"IW_TEST_WAITS_FOR", std::to_string(static_cast<int>(what))}});
  // A rank that has not heard of the barrier's end would hear of the death instead.
  for (Rank rank = 0; rank < job_ranks; rank++) job.at(rank).line().hear_text();
  job.at(static_cast<Rank>(victim)).kill();
  for (Rank rank = 0; rank < job_ranks; rank++) {
    if (rank == victim) continue;
    const bool is_touching = what == WaitsFor::page || what == WaitsFor::fault;
    if (is_touching) job.at(rank).line().say("touch");
    EXPECT_EQ(job.at(rank).wait_for_end(), what == WaitsFor::fault ? 3 : 0) << "rank " << rank;
  }
}

ROLE(in_a_tree) {
  Member at;
  at.begin();
  at.barrier();
  parent.say("ready");
  if (at.me() == number_of_environment("IW_TEST_VICTIM", 0)) parent.hear();
  parent.say_value(at.node->barrier(100));
  // The end of this rank would be another death.
  parent.hear();
  return 0;
}

// Ranks 1 and 2 are inner ones of a tree of seven, and rank 0 is its root. [DSM-BARRIER-5]
TEST(DeathsInATree, OfEachInnerRankAreToldToAllThatWaitAtABarrier) {
  constexpr Rank tree_ranks = 7;
  for (Rank victim = 0; victim < 3; victim++) {
    TestJob job("in_a_tree", tree_ranks,
                {{"IW_DSM_FAN_IN", "2"}, {"IW_TEST_VICTIM", std::to_string(victim)}});
    for (Rank rank = 0; rank < tree_ranks; rank++) job.at(rank).line().hear_text();
    job.at(victim).kill();
    for (Rank rank = 0; rank < tree_ranks; rank++) {
      if (rank == victim) continue;
      EXPECT_EQ(job.at(rank).line().hear_value<Result>(), (Result{Status::peer_dead, victim}))
          << "rank " << rank;
    }
  }
}

ROLE(patient) {
  Member at;
  at.begin();
  parent.say("ready");
  parent.hear();
  for (int i = 0; i < 50; i++) {
    at.lock(1);
    at.words[0] = at.words[0] + 1;
    at.unlock(1);
  }
  at.barrier();
  check(at.words[0] == 50u * at.ranks(), "all have counted", at.words[0]);
  at.barrier();
  return at.finish();
}

TEST(Stops, AreWaitedFor) {
  for (Rank stopped = 0; stopped < 2; stopped++) {
    TestJob job("patient", 2);
    for (Rank rank = 0; rank < 2; rank++) job.at(rank).line().hear_text();
    job.at(stopped).stop();
    job.at(1 - stopped).line().say("go");
    job.at(stopped).go_on();
    job.at(stopped).line().say("go");
    job.expect_success();
  }
}

// Each rank leaves as soon as it may. [DSM-END-1]
ROLE(leaver) {
  Member at;
  at.begin();
  at.words[at.me()] = 1;
  at.delay();
  return at.finish();
}

TEST(Ends, AreNotTakenForDeaths) {
  for (int i = 0; i < 5; i++) TestJob("leaver", 4).expect_success();
}

ROLE(deserter) {
  Member at;
  at.begin();
  parent.say("begun");
  if (at.me() == 1) {
    parent.hear();
    return 0;
  }
  const Result result = at.node->finish();
  check(result == Result{Status::peer_dead, 1}, "who left without finish is dead", result.rank);
  return 0;
}

TEST(Ends, ARankThatLeavesWithoutFinishIsNamed) {
  TestJob job("deserter", 3);
  for (Rank rank = 0; rank < 3; rank++) job.at(rank).line().hear_text();
  job.at(1).line().say("leave");
  job.expect_success();
}

}  // namespace iw::dsm
