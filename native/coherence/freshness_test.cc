// The coherence models, one rule of spec/coherence.md a test.
#include "coherence/freshness.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>
#include <vector>

#include "coherence/adaptation.h"

namespace iw::coherence {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t now_ns = 1000 * second_ns;
constexpr std::int64_t began_ns = now_ns - 1000;

Knowledge copy_at(std::uint64_t version, std::uint64_t newest) {
  Knowledge copy;
  copy.has_copy = true;
  copy.copy = {7, version};
  copy.newest = {7, newest};
  copy.heartbeat_ns = second_ns;
  return copy;
}

// Confirmed by a request of this acquire.
Knowledge just_asked(std::uint64_t version, std::uint64_t newest) {
  Knowledge copy = copy_at(version, newest);
  copy.newest_as_of_ns = began_ns + 1;
  if (version == newest) copy.confirmed_ns = began_ns + 1;
  return copy;
}

Knowledge watched(std::uint64_t version, std::uint64_t newest, Bound promise = {}) {
  Knowledge copy = copy_at(version, newest);
  copy.promised = true;
  copy.promise = promise;
  copy.heard_ns = now_ns - second_ns;
  return copy;
}

bool recent(const Bound& bound, const Knowledge& copy) {
  return is_recent(bound, copy, began_ns, now_ns);
}

TEST(Full, Coh1NeedsTheNewestDuringTheAcquire) {
  EXPECT_TRUE(recent({Model::FULL, 0}, just_asked(5, 5)));
  EXPECT_FALSE(recent({Model::FULL, 0}, just_asked(5, 6)));
  Knowledge earlier = just_asked(5, 5);
  earlier.newest_as_of_ns = began_ns - 1;
  EXPECT_FALSE(recent({Model::FULL, 0}, earlier));
  Knowledge at_once = just_asked(5, 5);  // the request was sent at the acquire's first moment
  at_once.newest_as_of_ns = began_ns;
  EXPECT_TRUE(recent({Model::FULL, 0}, at_once));
}

TEST(Full, Fresh3AcceptsAPromiseWhileTheServerIsHeard) {
  Knowledge copy = watched(5, 5);
  copy.heard_ns = now_ns - 2 * second_ns;
  EXPECT_TRUE(recent({Model::FULL, 0}, copy));
  copy.heard_ns -= 1;
  EXPECT_FALSE(recent({Model::FULL, 0}, copy));
  EXPECT_FALSE(recent({Model::FULL, 0}, watched(5, 6)));
}

TEST(Full, Fresh3TheServersVoiceAloneIsNoPromise) {
  Knowledge copy = copy_at(5, 5);
  copy.heard_ns = now_ns;
  EXPECT_FALSE(recent({Model::FULL, 0}, copy));
  EXPECT_FALSE(recent({Model::TEMPORAL, 1}, copy));
}

TEST(Full, APromiseAboutAWeakerBoundDoesNotCount) {
  EXPECT_FALSE(recent({Model::FULL, 0}, watched(5, 5, {Model::DELTA, 2})));
  EXPECT_FALSE(recent({Model::FULL, 0}, watched(5, 5, {Model::DIFF, 2})));
}

TEST(Strict, Fresh4AlwaysAsks) {
  EXPECT_FALSE(recent({Model::STRICT, 0}, just_asked(5, 5)));
  EXPECT_FALSE(recent({Model::STRICT, 0}, watched(5, 5)));
}

TEST(Null, Coh3TakesAnyCopyButNeedsOne) {
  EXPECT_TRUE(recent({Model::NULL_COHERENCE, 0}, copy_at(1, 100)));
  EXPECT_FALSE(recent({Model::NULL_COHERENCE, 0}, Knowledge{}));
}

TEST(Delta, Coh4CountsVersions) {
  EXPECT_TRUE(recent({Model::DELTA, 3}, just_asked(5, 8)));
  EXPECT_FALSE(recent({Model::DELTA, 3}, just_asked(5, 9)));
  EXPECT_FALSE(recent({Model::DELTA, 3}, copy_at(5, 8)));
  EXPECT_TRUE(recent({Model::DELTA, 3}, watched(5, 8, {Model::DELTA, 3})));
  EXPECT_TRUE(recent({Model::DELTA, 3}, watched(5, 8)));
  EXPECT_FALSE(recent({Model::DELTA, 3}, watched(5, 5, {Model::DELTA, 4})));
}

TEST(Delta, AnotherIncarnationIsNeverWithinVersions) {
  Knowledge copy = just_asked(5, 5);
  copy.newest.incarnation = 8;
  EXPECT_FALSE(recent({Model::DELTA, 100}, copy));
}

TEST(Delta, Coh11TheSameNumberWithAnotherChainIsNeverWithinVersions) {
  Knowledge copy = just_asked(5, 5);
  EXPECT_TRUE(recent({Model::FULL, 0}, copy));
  copy.newest.chain = 8;
  EXPECT_FALSE(recent({Model::FULL, 0}, copy));
  EXPECT_FALSE(recent({Model::DELTA, 100}, copy));
}

TEST(Temporal, Coh5CountsFromTheConfirmation) {
  Knowledge copy = copy_at(5, 9);
  copy.confirmed_ns = now_ns - second_ns / 2;
  EXPECT_TRUE(recent({Model::TEMPORAL, 0.5}, copy));
  EXPECT_FALSE(recent({Model::TEMPORAL, 0.499}, copy));
}

// [FRESH-3] [NOT-5]
TEST(Temporal, Fresh3TheStampIsTheLastMessageHeardWhileNothingNewerIsKnown) {
  Knowledge copy = watched(5, 5);
  copy.confirmed_ns = now_ns - 100 * second_ns;
  EXPECT_TRUE(recent({Model::TEMPORAL, 1}, copy));
  EXPECT_FALSE(recent({Model::TEMPORAL, 0.9}, copy));
  copy.newest.number = 6;
  EXPECT_FALSE(recent({Model::TEMPORAL, 1}, copy));
  EXPECT_EQ(confirmed_ns(copy), now_ns - 100 * second_ns);
}

TEST(Temporal, ACopyNeverConfirmedIsNotRecent) {
  EXPECT_FALSE(recent({Model::TEMPORAL, 1e9}, copy_at(5, 5)));
}

TEST(Diff, Coh6TakesTheServersWord) {
  EXPECT_TRUE(recent({Model::DIFF, 10}, just_asked(5, 5)));
  EXPECT_FALSE(recent({Model::DIFF, 10}, just_asked(5, 6)));
  EXPECT_TRUE(recent({Model::DIFF, 10}, watched(5, 6, {Model::DIFF, 10})));
  EXPECT_FALSE(recent({Model::DIFF, 9}, watched(5, 6, {Model::DIFF, 10})));
}

TEST(Promise, TemporalReadersWantToHearOfTheFirstNewerVersion) {
  EXPECT_EQ(promise_for({Model::TEMPORAL, 3}), Bound{});
  EXPECT_EQ(promise_for({Model::DELTA, 3}), (Bound{Model::DELTA, 3}));
  EXPECT_FALSE(can_subscribe(Model::STRICT));
  EXPECT_FALSE(can_subscribe(Model::NULL_COHERENCE));
  EXPECT_TRUE(can_subscribe(Model::DIFF));
}

TEST(Adaptation, Poll1SubscribesAfterThreeAnswersUpToDate) {
  Adaptation adaptation;
  for (int round = 0; round < 2; ++round) adaptation.asked(true);
  EXPECT_FALSE(adaptation.wants_subscription());
  adaptation.asked(false);
  for (int round = 0; round < 2; ++round) adaptation.asked(true);
  EXPECT_FALSE(adaptation.wants_subscription());
  adaptation.asked(true);
  EXPECT_TRUE(adaptation.wants_subscription());
}

TEST(Adaptation, Poll1EndsAfterThreeNotificationsWithoutAnAcquire) {
  Adaptation adaptation;
  for (int round = 0; round < 3; ++round) adaptation.asked(true);
  for (int round = 0; round < 2; ++round) adaptation.notified();
  adaptation.acquired();
  for (int round = 0; round < 2; ++round) adaptation.notified();
  EXPECT_TRUE(adaptation.wants_subscription());
  adaptation.notified();
  EXPECT_FALSE(adaptation.wants_subscription());
}

// Simulations know states again by their descriptions.
TEST(Adaptation, StatesThatDifferInOneThingAreToldApart) {
  std::vector<Adaptation> states(4);
  states[1].asked(true);
  states[2].notified();
  for (int round = 0; round < 3; ++round) states[3].asked(true);
  std::set<std::tuple<int, int, bool>> seen;
  for (const Adaptation& state : states) {
    state.describe([&seen](int up_to_date, int notified, bool wants) {
      EXPECT_TRUE(seen.emplace(up_to_date, notified, wants).second);
    });
  }
  EXPECT_EQ(seen.size(), states.size());
}

}  // namespace
}  // namespace iw::coherence
