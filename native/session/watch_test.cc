// When a conversation asks the server to watch its copy, and when it ends that [POLL-1, NOT-5].
// conversation_orders_test.cc tries these cases in all orders; each test here shows one alone.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "session/talk_fixture.h"

namespace iw::session {
namespace {

TEST(Watch, Poll1AnUnsubscribeWithoutMemoryIsRepeatedByTheNextTick) {
  Talk talk;
  talk.watch();
  talk.machine().listen(false);
  const std::vector<Effect> first = talk.ticked();
  ASSERT_TRUE(is_one(first, Kind::unsubscribe));
  EXPECT_TRUE(talk.ticked().empty());
  talk.said(first.front(), Said::no_memory);
  EXPECT_TRUE(talk.machine().has_unsaid());
  const std::vector<Effect> second = talk.ticked();
  ASSERT_TRUE(is_one(second, Kind::unsubscribe));
  talk.said(second.front(), Said::sent);
  EXPECT_FALSE(talk.machine().has_unsaid());
  EXPECT_TRUE(talk.ticked().empty());
}

TEST(Watch, Poll1TheWatchThatARefusedSubscribeLeftIsEndedWhenNobodyWantsIt) {
  Talk talk;
  talk.watch();
  talk.machine().set_bound({coherence::Model::DELTA, 2}, false, {}, talk.effects());
  talk.said(talk.messages().front(), Said::sent);
  talk.machine().listen(false);
  (void)talk.was_woken();
  talk.answered(message_type::SUBSCRIBE, {.type = message_type::ERROR}, 1);
  EXPECT_TRUE(talk.was_woken());
  EXPECT_FALSE(talk.machine().state().subscription().has_value());
  EXPECT_TRUE(is_one(talk.ticked(), Kind::unsubscribe));
}

TEST(Watch, AWatchThatIsWantedAgainBeforeItsEndIsSentIsAskedFor) {
  Talk talk;
  talk.watch();
  talk.machine().listen(false);
  const std::vector<Effect> ending = talk.ticked();
  ASSERT_TRUE(is_one(ending, Kind::unsubscribe));
  talk.machine().listen(true);
  (void)talk.was_woken();
  talk.said(ending.front(), Said::sent);
  EXPECT_TRUE(talk.was_woken());
  EXPECT_TRUE(is_one(talk.ticked(), Kind::subscribe));
}

TEST(Watch, ABoundThatChangesBeforeTheAnswerIsAskedForAfterIt) {
  Talk talk;
  talk.machine().listen(true);
  talk.said(talk.ticked().front(), Said::sent);
  talk.machine().set_bound({coherence::Model::DELTA, 2}, false, {}, talk.effects());
  EXPECT_TRUE(talk.messages().empty()) << "one request at a time";
  (void)talk.was_woken();
  talk.answered(message_type::SUBSCRIBE, {.type = message_type::SUBSCRIBED}, 1);
  EXPECT_TRUE(talk.was_woken());
  const std::vector<Effect> again = talk.ticked();
  ASSERT_TRUE(is_one(again, Kind::subscribe));
  EXPECT_EQ(again.front().watch.promise, (coherence::Bound{coherence::Model::DELTA, 2}));
}

TEST(Watch, ARefusedSubscribeIsNotRepeatedAtOnce) {
  for (const bool is_granted : {false, true}) {
    Talk talk;
    talk.machine().listen(true);
    talk.said(talk.ticked().front(), Said::sent);
    (void)talk.was_woken();
    talk.answered(message_type::SUBSCRIBE,
                  {.type = is_granted ? message_type::SUBSCRIBED : message_type::ERROR}, 1);
    EXPECT_FALSE(talk.was_woken());
  }
}

TEST(Watch, Poll1DiffsArePushedToReadersWhoUseThemAll) {
  using coherence::Model;
  const auto is_pushed = [](Model model, bool decides_itself, bool has_copy) {
    Talk talk;
    if (has_copy) talk.machine().resolved(model::stamp(4), 0);
    talk.machine().listen(true);
    talk.machine().set_bound({model, 2}, decides_itself, {}, talk.effects());
    const std::vector<Effect> asked = talk.ticked();
    EXPECT_TRUE(is_one(asked, Kind::subscribe));
    return asked.front().watch.push;
  };
  for (const Model model : {Model::FULL, Model::DELTA}) {
    EXPECT_TRUE(is_pushed(model, false, true));
    EXPECT_FALSE(is_pushed(model, true, true));
    EXPECT_FALSE(is_pushed(model, false, false)) << "the first acquire asks for the first copy";
  }
  for (const Model model : {Model::TEMPORAL, Model::DIFF}) {
    EXPECT_FALSE(is_pushed(model, false, true));
  }
}

TEST(Watch, Poll1DiffsArePushedToAReaderWhoChoseNoBound) {
  Talk talk;
  talk.machine().resolved(model::stamp(4), 0);
  talk.machine().listen(true);
  const std::vector<Effect> asked = talk.ticked();
  ASSERT_TRUE(is_one(asked, Kind::subscribe));
  EXPECT_EQ(asked.front().watch.promise, coherence::Bound{});
  EXPECT_TRUE(asked.front().watch.push);
}

// Under Strict a reader always asks, and under Null never.
TEST(Watch, Poll1NothingIsWatchedUnderStrictOrNull) {
  for (const coherence::Model model :
       {coherence::Model::STRICT, coherence::Model::NULL_COHERENCE}) {
    Talk talk;
    for (int i = 0; i < 3; ++i) talk.machine().state().adaptation.asked(true);
    talk.machine().set_bound({model, 0}, false, {}, talk.effects());
    talk.machine().watch(talk.effects());
    EXPECT_TRUE(talk.messages().empty());
    talk.machine().set_bound({}, false, {}, talk.effects());
    talk.machine().watch(talk.effects());
    talk.said(talk.messages().at(0), Said::sent);
    talk.answered(message_type::SUBSCRIBE, {.type = message_type::SUBSCRIBED}, 1);
    talk.machine().set_bound({model, 0}, false, {}, talk.effects());
    EXPECT_TRUE(is_one(talk.messages(), Kind::unsubscribe));
  }
}

TEST(Watch, Poll1ACopyThatChangesMoreOftenThanItIsReadIsWatchedNoMore) {
  for (const bool pushes : {false, true}) {
    Talk talk;
    for (int i = 0; i < 3; ++i) talk.machine().state().adaptation.asked(true);
    talk.machine().watch(talk.effects());
    const std::vector<Effect> asked = talk.messages();
    ASSERT_TRUE(is_one(asked, Kind::subscribe));
    talk.said(asked.front(), Said::sent);
    talk.answered(message_type::SUBSCRIBE, {.type = message_type::SUBSCRIBED}, 1);
    (void)talk.was_woken();
    for (std::uint64_t number = 1; number <= 3; ++number) {
      EXPECT_FALSE(talk.machine().has_unsaid());
      EXPECT_FALSE(talk.was_woken());
      if (pushes) {
        talk.pushed(number - 1, number);
      } else {
        talk.answered(
            {}, {.type = message_type::NOT_RECENT, .is_notification = true, .number = number}, 1);
      }
    }
    EXPECT_TRUE(talk.machine().has_unsaid());
    EXPECT_FALSE(talk.machine().is_at_rest());
    EXPECT_TRUE(talk.was_woken());
    EXPECT_TRUE(is_one(talk.ticked(), Kind::unsubscribe));
  }
}

TEST(Watch, Not5ASubscribeTakesThePlaceOfAnUnsubscribeWithoutMemory) {
  Talk talk;
  talk.watch();
  talk.machine().listen(false);
  talk.said(talk.ticked().front(), Said::no_memory);
  talk.machine().listen(true);
  const std::vector<Effect> wanted = talk.ticked();
  ASSERT_TRUE(is_one(wanted, Kind::subscribe));
  talk.said(wanted.front(), Said::sent);
  talk.answered(message_type::SUBSCRIBE, {.type = message_type::SUBSCRIBED}, 1);
  EXPECT_TRUE(talk.ticked().empty());
}

}  // namespace
}  // namespace iw::session
