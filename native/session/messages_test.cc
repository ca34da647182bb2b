// What a conversation makes of single messages: what is counted, credited or asked for again, and
// what means nothing. conversation_test.cc has the messages that are not sent or not answered.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "session/talk_fixture.h"

namespace iw::session {
namespace {

using coherence::Model;

constexpr std::uint64_t diff_bytes = 24;

Conversation::Brought brought(Talk& talk, const model::Down& down, ConnectionNumber on = 1) {
  model::Delivery delivery(down, on, diff_bytes);
  return talk.machine().heard(delivery.incoming(), false, {}, talk.effects());
}

model::Down answer(std::uint64_t from, bool updated) {
  return {.type = message_type::READER_ACQUIRED,
          .asked = message_type::ACQUIRE_READER,
          .from = from,
          .number = 5,
          .updated = updated};
}

model::Down push(std::uint64_t from) {
  return {.type = message_type::PUSH,
          .is_notification = true,
          .from = from,
          .number = 5,
          .updated = true};
}

TEST(Messages, DiffsAreCountedWithTheirBytesAndAnswersFromNothingAsCompleteCopies) {
  for (const std::uint64_t from : {0U, 4U}) {
    Talk asking;
    asking.machine().resolved(model::stamp(4), 0);
    const Conversation::Brought answered = brought(asking, answer(from, true));
    EXPECT_TRUE(answered.has_diff);
    EXPECT_EQ(answered.is_complete, from == 0);
    EXPECT_EQ(answered.diff_bytes, diff_bytes);
    Talk watching;
    watching.machine().resolved(model::stamp(4), 0);
    const Conversation::Brought pushed = brought(watching, push(from));
    EXPECT_TRUE(pushed.has_diff);
    EXPECT_FALSE(pushed.is_complete);
    EXPECT_EQ(pushed.diff_bytes, diff_bytes);
  }
  Talk talk;
  const Conversation::Brought nothing = brought(talk, answer(0, false));
  EXPECT_FALSE(nothing.has_diff || nothing.is_complete || nothing.moved_to.has_value());
  EXPECT_EQ(nothing.diff_bytes, 0u);
}

TEST(Messages, Not4OnlyAPushOverThisConnectionIsCredited) {
  for (const ConnectionNumber on : {1U, 2U}) {
    Talk talk;
    talk.machine().resolved(model::stamp(4), 0);
    talk.lose(1);
    talk.open(2, first_session);
    talk.machine().resolved(model::stamp(4), 0);  // the opening said that version 0 is the newest
    (void)brought(talk, push(4), on);
    talk.machine().give_credit(talk.effects());
    EXPECT_TRUE(talk.messages().empty()) << "it was not used yet";
    const std::optional<StagedDiff> diff = talk.machine().state().take_staged();
    ASSERT_TRUE(diff.has_value());
    talk.machine().state().applied(*diff);
    talk.machine().give_credit(talk.effects());
    const std::vector<Effect> credit = talk.messages();
    EXPECT_EQ(is_one(credit, Kind::credit), on == 2);
    for (const Effect& one : credit) EXPECT_EQ(one.value, diff_bytes);
  }
}

TEST(Messages, Not4ACreditWaitsForAMebibyteUnlessItIsSaidOtherwise) {
  Conversation machine(model::begins_at);
  Effects effects;
  machine.state().keep_credit((1 << 20) - 1);
  machine.give_credit(effects);
  EXPECT_TRUE(effects.is_empty());
  machine.state().keep_credit(1);
  machine.give_credit(effects);
  Effect credit;
  ASSERT_TRUE(effects.take(credit));
  EXPECT_EQ(credit.value, std::uint64_t{1} << 20);
}

TEST(Messages, Lost1ALostSegmentHasNoPromiseAndNoDiffsToCome) {
  Talk talk;
  talk.watch();
  talk.pushed(0, 1);
  ASSERT_TRUE(talk.machine().state().has_staged());
  talk.machine().vanish(0, talk.effects());
  EXPECT_FALSE(talk.machine().state().has_staged());
  EXPECT_FALSE(talk.machine().state().subscription().has_value());
}

TEST(Messages, Open2OnlyAnOpeningThatNobodyWaitsForIsClosed) {
  for (const bool is_late : {false, true}) {
    for (const bool is_granted : {false, true}) {
      Talk talk;
      talk.said(talk.close().front(), Said::sent);
      model::Delivery told({.type = is_granted ? message_type::SEGMENT_OPENED : message_type::ERROR,
                            .asked = message_type::OPEN_SEGMENT},
                           1, 0);
      protocol::segment_opened opened;
      opened.segment = 9;
      told.incoming().message.body =
          is_granted ? encoded(opened)
                     : encoded(protocol::error_reply{error_code::NO_SEGMENT, "none", {}});
      (void)talk.machine().heard(told.incoming(), is_late, {}, talk.effects());
      EXPECT_EQ(talk.machine().must_close(), is_late && is_granted);
    }
  }
}

TEST(Messages, Lost1AProgramThatSawNothingLosesNothing) {
  Talk talk;
  talk.lose(1);
  ASSERT_EQ(talk.machine().life().use(2), Opening::Step::send);
  Conversation::OpenAnswer none;
  none.on = 2;
  none.code = error_code::NO_SEGMENT;
  EXPECT_EQ(talk.machine().opened(none, 0, talk.effects()), Conversation::Opened::refused);
}

TEST(Messages, AnAnswerOfWouldDeadlockIsAskedForAgainOnlyWhileAGrantIsToBeGivenBack) {
  Talk talk;
  EXPECT_FALSE(talk.machine().must_ask_again(error_code::WOULD_DEADLOCK));
  talk.answered(message_type::ACQUIRE_WRITER, {.type = message_type::WRITER_ACQUIRED, .fence = 5},
                1, true);
  EXPECT_TRUE(talk.machine().must_ask_again(error_code::WOULD_DEADLOCK));
  EXPECT_FALSE(talk.machine().must_ask_again(error_code::TIMED_OUT));
}

TEST(Messages, Lock9ALockWhoseReleaseWasCommittedIsNotGivenBack) {
  Talk talk;
  talk.grant(5, 1);
  talk.lose(1);
  talk.open(2, first_session);
  talk.machine().resolved(model::stamp(1), 0);
  talk.machine().end_writing(talk.effects());
  EXPECT_FALSE(talk.machine().has_late_grant());
}

TEST(Messages, Lock11ALostConnectionLeavesNoStrictLockThatNobodyAskedFor) {
  Talk talk;
  talk.lose(1);
  EXPECT_FALSE(talk.machine().has_unused_strict());
}

// The question named no version, and another thread's diff came before its answer.
TEST(Messages, AnAnswerAboutTheEmptySegmentIsNotAskedForAgain) {
  Talk talk;
  talk.machine().resolved(model::stamp(4), 0);
  EXPECT_FALSE(talk.machine().must_ask_again({model::stamp(4), false}, {}));
}

TEST(Messages, Coh5OnlyUnderTemporalAReaderOfAnOldCopyIsCalledAgain) {
  Talk talk;
  talk.machine().listen(true);
  talk.machine().resolved(model::stamp(5), 100);
  talk.machine().set_bound({Model::DELTA, 2}, false, {}, talk.effects());
  talk.answered({}, {.type = message_type::NOT_RECENT, .is_notification = true, .number = 6}, 1);
  EXPECT_EQ(talk.machine().change_due_ns(), 0) << "at once";
  EXPECT_EQ(talk.machine().take_change(), 6u);
  talk.machine().entered({}, talk.effects());
  EXPECT_EQ(talk.machine().change_due_ns(), Conversation::never_due_ns);
}

TEST(Messages, Coh10AChangeThatIsDueFollowsTheBound) {
  Talk talk;
  talk.machine().listen(true);
  talk.machine().resolved(model::stamp(5), 100);
  talk.answered({}, {.type = message_type::NOT_RECENT, .is_notification = true, .number = 6}, 1);
  EXPECT_EQ(talk.machine().change_due_ns(), 0);
  talk.machine().set_bound({Model::TEMPORAL, 2}, false, {}, talk.effects());
  EXPECT_EQ(talk.machine().change_due_ns(), 2'000'000'100);
  talk.machine().set_bound({Model::DELTA, 2}, false, {}, talk.effects());
  EXPECT_EQ(talk.machine().change_due_ns(), 0);
}

}  // namespace
}  // namespace iw::session
