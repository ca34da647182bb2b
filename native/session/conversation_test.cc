// What a conversation does with messages that could not be sent, that another thread has not sent
// yet, or whose answers were lost [OPEN-2, LOCK-5, NOT-5, SES-2]. conversation_orders_test.cc tries
// these cases in all orders; each test here shows one of them alone.
#include "session/conversation.h"

#include <gtest/gtest.h>

#include <vector>

#include "session/conversation_fixture.h"
#include "session/talk_fixture.h"

namespace iw::session {
namespace {

TEST(Conversation, Open2CloseSegmentWaitsForAMessageThatAnotherThreadSends) {
  for (const bool is_unsubscribe : {false, true}) {
    Talk talk;
    if (is_unsubscribe) talk.watch();
    talk.machine().listen(!is_unsubscribe);
    const std::vector<Effect> taken = talk.ticked();
    ASSERT_TRUE(is_one(taken, is_unsubscribe ? Kind::unsubscribe : Kind::subscribe));
    EXPECT_TRUE(talk.close().empty());
    EXPECT_EQ(talk.machine().life().stage(), Opening::Stage::closing);
    talk.said(taken.front(), Said::sent);
    ASSERT_TRUE(talk.machine().must_close());
    talk.machine().close(talk.effects());
    const std::vector<Effect> closing = talk.messages();
    ASSERT_TRUE(is_one(closing, Kind::close_segment));
    talk.said(closing.front(), Said::sent);
    EXPECT_EQ(talk.machine().life().stage(), Opening::Stage::shut);
  }
}

TEST(Conversation, Open2CloseSegmentDoesNotWaitForMessagesOfALostConnection) {
  Talk talk;
  talk.machine().listen(true);
  ASSERT_TRUE(is_one(talk.ticked(), Kind::subscribe));
  talk.lose(1);
  EXPECT_TRUE(talk.close().empty());
  EXPECT_EQ(talk.machine().life().stage(), Opening::Stage::shut);
}

TEST(Conversation, Ses2AnAbortThatFoundNoConnectionIsSentInTheResumedSession) {
  for (const bool is_told_before : {false, true}) {
    for (const bool is_resumed : {false, true}) {
      Talk talk;
      talk.grant(5, 1);
      talk.machine().abort(talk.effects());
      const std::vector<Effect> aborted = talk.messages();
      ASSERT_TRUE(is_one(aborted, Kind::abort_writer));
      if (is_told_before) talk.lose(1);
      talk.said(aborted.front(), Said::no_connection);
      talk.machine().end_writing(talk.effects());
      // The thread that wants the lock next is not refused for that.
      EXPECT_FALSE(talk.machine().has_late_grant());
      if (!is_told_before) talk.lose(1);
      talk.open(2, is_resumed ? first_session : other_session);
      const std::vector<Effect> again = talk.returned_late();
      EXPECT_EQ(is_one(again, Kind::abort_writer), is_resumed);
      for (const Effect& one : again) EXPECT_EQ(one.value, 5u);
    }
  }
}

TEST(Conversation, Ses2AnAbortWhoseAnswerWasLostIsSentInTheResumedSession) {
  for (const bool is_answered : {false, true}) {
    Talk talk;
    talk.grant(5, 1);
    talk.machine().abort(talk.effects());
    talk.said(talk.messages().front(), Said::sent);
    talk.machine().end_writing(talk.effects());
    if (is_answered) talk.answered(message_type::ABORT_WRITER, {.type = message_type::DONE}, 1);
    talk.lose(1);
    talk.open(2, first_session);
    EXPECT_EQ(is_one(talk.returned_late(), Kind::abort_writer), !is_answered);
  }
}

// Else it would count as unanswered for ever.
TEST(Conversation, Ses2AnAbortWithoutMemoryIsSentOnceMoreAndNotInTheNextConnection) {
  Talk talk;
  talk.grant(5, 1);
  talk.machine().abort(talk.effects());
  talk.said(talk.messages().front(), Said::no_memory);
  talk.machine().end_writing(talk.effects());
  const std::vector<Effect> again = talk.returned_late();
  ASSERT_TRUE(is_one(again, Kind::abort_writer));
  talk.said(again.front(), Said::sent);
  talk.answered(message_type::ABORT_WRITER, {.type = message_type::DONE}, 1);
  talk.lose(1);
  talk.open(2, first_session);
  EXPECT_TRUE(talk.returned_late().empty());
}

TEST(Conversation, Conn4TheLockOfAReleaseThatWasNotSentIsGivenBack) {
  Talk talk;
  talk.grant(5, 1);
  talk.lose(1);
  talk.machine().end_writing(talk.effects());  // the server was not reached before the deadline
  talk.open(2, first_session);
  EXPECT_TRUE(is_one(talk.returned_late(), Kind::abort_writer));
}

TEST(Conversation, AReleasedLockIsNotGivenBackAgain) {
  Talk talk;
  talk.grant(5, 1);
  talk.answered(message_type::RELEASE_WRITER, {.type = message_type::WRITER_RELEASED, .number = 1},
                1);
  talk.machine().end_writing(talk.effects());
  EXPECT_TRUE(talk.returned_late().empty());
}

TEST(Conversation, Open2CloseSegmentEndsTheLocksUnlessItsConnectionWasLost) {
  for (const bool is_lost : {false, true}) {
    Talk talk;
    talk.grant(5, 1);
    talk.machine().abort(talk.effects());
    talk.said(talk.messages().front(), Said::sent);
    talk.machine().end_writing(talk.effects());
    talk.machine().asks_strict();
    talk.said(talk.close().front(), Said::sent);
    if (is_lost) talk.lose(1);
    talk.open(is_lost ? 2 : 1, first_session);
    EXPECT_EQ(is_one(talk.returned_late(), Kind::abort_writer), is_lost);
    EXPECT_EQ(talk.machine().has_unused_strict(), is_lost);
  }
}

TEST(Conversation, Lock11AStrictLockThatIsAskedForWhileTheSegmentIsReopenedIsGivenBack) {
  Talk talk;
  talk.machine().asks_strict();  // and its ACQUIRE_READER is sent in the next opening
  talk.said(talk.close().front(), Said::sent);
  talk.open(1, first_session);
  EXPECT_FALSE(talk.machine().has_unused_strict());
  talk.answered(message_type::ACQUIRE_READER, {.type = message_type::READER_ACQUIRED}, 1, true);
  EXPECT_TRUE(talk.machine().has_unused_strict());
}

TEST(Conversation, Ses2AGrantOfAnEndedSessionIsLostThoughALaterConnectionResumesAnother) {
  for (const bool is_same : {false, true}) {
    Talk talk;
    talk.grant(5, 1);
    talk.lose(1);
    // Another segment began the other session on connection 2, and connection 3 resumed that one.
    talk.open(3, is_same ? first_session : other_session);
    EXPECT_EQ(talk.machine().grant().is_lost(), !is_same);
    talk.machine().end_writing(talk.effects());
    EXPECT_EQ(is_one(talk.returned_late(), Kind::abort_writer), is_same);
  }
}

TEST(Conversation, WhoeverWaitsLooksAgainAfterALossAndAfterAClose) {
  const auto kinds = [](Talk& talk) {
    std::vector<Kind> all;
    for (Effect effect; talk.effects().take(effect);) all.push_back(effect.kind);
    return all;
  };
  const std::vector<Kind> both{Kind::look_again, Kind::wake};
  Talk lost;
  lost.lose(2);
  EXPECT_TRUE(kinds(lost).empty()) << "another connection";
  lost.lose(1);
  EXPECT_EQ(kinds(lost), both);
  Talk vanished;
  vanished.machine().vanish(0, vanished.effects());
  EXPECT_EQ(kinds(vanished), (std::vector{Kind::look_again, Kind::wake, Kind::close_segment}));
  Talk closed;
  const std::vector<Effect> closing = closed.close();
  closed.said(closing.front(), Said::sent);
  EXPECT_EQ(kinds(closed), (std::vector{Kind::look_again}));
}

TEST(Conversation, TheLibrarysThreadIsWokenForALateGrant) {
  Talk talk;
  (void)talk.was_woken();
  talk.answered(message_type::ACQUIRE_WRITER, {.type = message_type::WRITER_ACQUIRED, .fence = 5},
                1, true);
  EXPECT_TRUE(talk.was_woken());
  // A thread that owned the slot at that moment leaves it.
  talk.machine().end_writing(talk.effects());
  EXPECT_TRUE(talk.was_woken());
}

TEST(Conversation, Lock1ALateGrantHasEndedWhenAnotherIsGranted) {
  Talk talk;
  talk.answered(message_type::ACQUIRE_WRITER, {.type = message_type::WRITER_ACQUIRED, .fence = 5},
                1, true);
  talk.grant(6, 1);
  EXPECT_TRUE(talk.returned_late().empty());
}

TEST(Conversation, Lock3TheAnswerToARenewalCountsOnItsConnectionOnly) {
  Talk talk;
  talk.grant(5, 1);
  talk.lose(1);
  talk.open(2, first_session);
  talk.machine().tick({.now_ns = 15'000'000'000}, talk.effects());
  ASSERT_TRUE(is_one(talk.messages(), Kind::renew_writer));
  talk.answered(message_type::RENEW_WRITER, {.type = message_type::ERROR}, 1);
  EXPECT_FALSE(talk.machine().grant().is_lost());
  talk.answered(message_type::RENEW_WRITER, {.type = message_type::ERROR}, 2);
  EXPECT_TRUE(talk.machine().grant().is_lost());
}

TEST(Conversation, SubscribedSaysWhichVersionIsTheNewest) {
  Talk talk;
  talk.machine().listen(true);
  talk.said(talk.ticked().front(), Said::sent);
  talk.answered(message_type::SUBSCRIBE, {.type = message_type::SUBSCRIBED, .number = 3}, 1);
  EXPECT_EQ(talk.machine().state().newest().number, 3u);
}

TEST(Conversation, Not5AnOldPromiseDoesNotCountWhileItIsChanged) {
  Talk talk;
  talk.watch();
  talk.machine().set_bound({coherence::Model::DELTA, 2}, false, {}, talk.effects());
  EXPECT_TRUE(is_one(talk.messages(), Kind::subscribe));
  EXPECT_FALSE(talk.machine().state().subscription().has_value());
}

TEST(Conversation, Not4ACreditOfALostConnectionIsForgotten) {
  for (const bool is_lost : {false, true}) {
    Talk talk;
    talk.machine().state().keep_credit(8);
    talk.machine().give_credit(talk.effects());
    const std::vector<Effect> credit = talk.messages();
    ASSERT_TRUE(is_one(credit, Kind::credit));
    if (is_lost) {
      talk.lose(1);
      talk.open(2, first_session);
    }
    talk.said(credit.front(), Said::no_memory);
    EXPECT_EQ(talk.machine().state().take_credit(1), is_lost ? 0u : 8u);
  }
}

TEST(Conversation, Lock11AStrictLockIsKeptWhileItIsReadUnderOrNotGivenBack) {
  Talk talk;
  talk.machine().strict_unused(talk.effects());
  talk.machine().return_strict(true, talk.effects());
  EXPECT_TRUE(talk.messages().empty());
  talk.machine().strict_unused(talk.effects());
  talk.machine().return_strict(false, talk.effects());
  const std::vector<Effect> given_back = talk.messages();
  ASSERT_TRUE(is_one(given_back, Kind::release_reader));
  EXPECT_FALSE(talk.machine().has_unused_strict());
  talk.said(given_back.front(), Said::no_memory);
  EXPECT_TRUE(talk.machine().has_unused_strict());
}

TEST(Conversation, Lock11AGivenUpAnswerBringsTheStrictLock) {
  for (const bool is_asked : {false, true}) {
    for (const bool is_late : {false, true}) {
      Talk talk;
      if (is_asked) talk.machine().asks_strict();
      talk.answered(message_type::ACQUIRE_READER, {.type = message_type::READER_ACQUIRED}, 1,
                    is_late);
      EXPECT_EQ(talk.machine().has_unused_strict(), is_asked && is_late);
    }
  }
}

TEST(Conversation, AChangeThatIsDueIsNotPutOff) {
  Talk talk;
  talk.machine().listen(true);
  talk.answered({}, {.type = message_type::NOT_RECENT, .is_notification = true, .number = 3}, 1);
  model::Delivery later({.type = message_type::NOT_RECENT, .is_notification = true, .number = 4}, 1,
                        0);
  (void)talk.machine().heard(later.incoming(), false, {.now_ns = 10}, talk.effects());
  EXPECT_EQ(talk.machine().change_due_ns(), 0);
}

TEST(Conversation, Coh5UnderTemporalAChangeIsDueWhenTheCopysTimeEnds) {
  for (const bool decides_itself : {false, true}) {
    Talk talk;
    talk.machine().listen(true);
    talk.machine().resolved(model::stamp(5), 100);
    talk.machine().set_bound({coherence::Model::TEMPORAL, 2}, decides_itself, {}, talk.effects());
    talk.answered({}, {.type = message_type::NOT_RECENT, .is_notification = true, .number = 6}, 1);
    const std::int64_t due_ns = decides_itself ? 0 : 2'000'000'100;
    EXPECT_EQ(talk.machine().change_due_ns(), due_ns);
    // A reader that is content with the old copy is called when its time ends.
    EXPECT_EQ(talk.machine().take_change(), 6u);
    talk.machine().entered({}, talk.effects());
    EXPECT_EQ(talk.machine().change_due_ns(), decides_itself ? Conversation::never_due_ns : due_ns);
  }
}

// Others may have written since it was committed.
TEST(Conversation, Fresh2ARepeatedReleaseConfirmsTheCopyAsOfItsFirstSending) {
  Talk talk;
  talk.grant(5, 1);
  talk.machine().release().number(first_session, 1, 100);
  talk.answered(message_type::RELEASE_WRITER,
                {.type = message_type::WRITER_RELEASED, .number = 4, .sent_ns = 9'000}, 1);
  EXPECT_EQ(talk.machine().knowledge({}).confirmed_ns, 100);
  talk.machine().resolved(model::stamp(5), 9'000);
  EXPECT_EQ(talk.machine().knowledge({}).confirmed_ns, 100);
}

// Of a message with a diff, which comes in several frames.
class Large {
 public:
  Large(const model::Down& down, ConnectionNumber on, std::uint32_t stream)
      : first_(down, on, sizeof(std::uint64_t)), whole_(down, on, sizeof(std::uint64_t)) {
    first_.incoming().message.head.stream = whole_.incoming().message.head.stream = stream;
    first_.incoming().message.part = Part::first;
    whole_.incoming().message.part = Part::rest;
  }
  [[nodiscard]] const Incoming& first() { return first_.incoming(); }
  [[nodiscard]] Incoming& whole() { return whole_.incoming(); }

 private:
  model::Delivery first_;
  model::Delivery whole_;
};

TEST(Conversation, Not6NothingIsPromisedFromTheFirstFrameOfADiffToTheLast) {
  for (const message_type type :
       {message_type::PUSH, message_type::READER_ACQUIRED, message_type::WRITER_ACQUIRED}) {
    const bool is_push = type == message_type::PUSH;
    Talk talk;
    talk.watch();
    model::Down down{.type = type, .number = 1, .updated = true};
    down.is_notification = is_push;
    down.asked = type == message_type::WRITER_ACQUIRED ? message_type::ACQUIRE_WRITER
                                                       : message_type::ACQUIRE_READER;
    Large large(down, 1, 9);
    Large of_another(down, 2, 9);
    talk.machine().begins(of_another.first());
    EXPECT_TRUE(talk.machine().knowledge({}).promised) << "on another connection";
    talk.machine().begins(large.first());
    EXPECT_FALSE(talk.machine().knowledge({}).promised);
    (void)talk.machine().heard(of_another.whole(), true, {}, talk.effects());
    EXPECT_FALSE(talk.machine().knowledge({}).promised);
    (void)talk.machine().heard(large.whole(), false, {}, talk.effects());
    const CopyState& state = talk.machine().state();
    EXPECT_EQ(state.reach(), model::stamp(1));
    EXPECT_TRUE(state.with_staged(state.knowledge(0, 0)).promised);
  }
}

// The answer comes behind the diff, which need not be sent twice.
TEST(Conversation, AQuestionNamesTheVersionOfThePushThatIsComing) {
  Talk talk;
  talk.machine().resolved(model::stamp(4), 0);
  Large push({.type = message_type::PUSH, .is_notification = true, .from = 4, .number = 5}, 1, 9);
  talk.machine().begins(push.first());
  EXPECT_EQ(talk.machine().question({}, false, 0).have, model::stamp(5));
  EXPECT_EQ(talk.machine().writer_question(0).have, model::stamp(5));
  talk.lose(1);
  EXPECT_EQ(talk.machine().question({}, false, 0).have, model::stamp(4));
}

TEST(Conversation, AnAnswerWhoseDiffFitsNothingIsAskedForAgain) {
  Talk talk;
  EXPECT_TRUE(talk.machine().must_ask_again({model::stamp(3), true}, {}));
  EXPECT_FALSE(talk.machine().must_ask_again({model::stamp(3), false}, {}));
  talk.machine().resolved(model::stamp(4), 0);
  EXPECT_FALSE(talk.machine().must_ask_again({model::stamp(3), true}, {}));
}

// Another thread could not apply the diff that the question counted on.
TEST(Conversation, Coh1AnAnswerAboutAVersionThatWasDroppedIsAskedForAgain) {
  Talk talk;
  const protocol::reader_acquired is_recent{model::stamp(4), false};
  talk.machine().resolved(model::stamp(4), 0);
  EXPECT_FALSE(talk.machine().must_ask_again(is_recent, {model::stamp(4)}));
  EXPECT_TRUE(talk.machine().must_ask_again(is_recent, {model::stamp(5)}));
  talk.machine().state().forget();
  EXPECT_TRUE(talk.machine().must_ask_again(is_recent, {model::stamp(4)}));
}

// A push crosses the question: the server makes its next diff from the version that was named. It
// counts that diff as applied, and answers without one.
TEST(Conversation, Fresh2AnAnswerThatCountsOnADroppedDiffIsAskedForAgain) {
  Talk talk;
  talk.machine().resolved(model::stamp(4), 0);
  const CopyState::Asked asked = talk.machine().state().asked();
  const protocol::reader_acquired is_recent{model::stamp(6), false};
  talk.pushed(4, 5);
  EXPECT_FALSE(talk.machine().must_ask_again(is_recent, asked)) << "it is recent enough";
  talk.pushed(4, 6);
  EXPECT_EQ(talk.machine().state().reach(), model::stamp(5));
  EXPECT_TRUE(talk.machine().must_ask_again(is_recent, asked));
  const CopyState::Asked again = talk.machine().state().asked();
  EXPECT_FALSE(talk.machine().must_ask_again(is_recent, again)) << "the server knows what is here";
  talk.pushed(5, 6);
  EXPECT_FALSE(talk.machine().must_ask_again(is_recent, asked));
}

// A diff that came after the question could not be applied.
TEST(Conversation, Fresh2AnAnswerThatCountsOnADiffThatFailedIsAskedForAgain) {
  Talk talk;
  talk.machine().resolved(model::stamp(4), 0);
  const CopyState::Asked asked = talk.machine().state().asked();
  talk.pushed(4, 5);
  talk.machine().state().drop_staged();
  EXPECT_TRUE(talk.machine().must_ask_again({model::stamp(5), false}, asked));
}

TEST(Conversation, ARemovedSegmentLosesItsLock) {
  Talk talk;
  talk.grant(5, 1);
  talk.answered({}, {.type = message_type::SEGMENT_GONE, .is_notification = true}, 1);
  EXPECT_TRUE(talk.machine().is_removed());
  EXPECT_TRUE(talk.machine().grant().is_lost());
}

// By the thread that reads, which may not send: a tick closes it.
TEST(Conversation, Gone1AndOpen2ARemovedSegmentIsClosedBeforeTheNextOpening) {
  for (const bool is_told : {true, false}) {
    Talk talk;
    talk.machine().listen(true);
    (void)talk.ticked();
    (void)talk.was_woken();
    if (is_told) {
      talk.answered({}, {.type = message_type::SEGMENT_GONE, .is_notification = true}, 1);
    } else {  // it was not listened for yet
      talk.refused(message_type::ACQUIRE_READER, error_code::REMOVED, 1);
    }
    ASSERT_TRUE(talk.machine().is_removed());
    EXPECT_TRUE(talk.machine().life().is_lost());
    EXPECT_EQ(talk.machine().change_due_ns(), 0) << "who listens hears of it";
    EXPECT_TRUE(talk.was_woken());
    EXPECT_EQ(talk.machine().life().use(1), Opening::Step::lost);
    EXPECT_EQ(talk.machine().life().open(1), Opening::Step::wait);
    ASSERT_TRUE(talk.machine().must_close());
  }
}

TEST(Conversation, Gone1ARemovalOnAnEarlierConnectionOrOfAClosedSegmentIsNotTakenIn) {
  Talk talk;
  talk.lose(1);
  talk.open(2, first_session);
  talk.answered({}, {.type = message_type::SEGMENT_GONE, .is_notification = true}, 1);
  talk.refused(message_type::ACQUIRE_READER, error_code::REMOVED, 1);
  talk.refused(message_type::ACQUIRE_READER, error_code::NO_BLOCK, 2);
  EXPECT_FALSE(talk.machine().is_removed());
}

TEST(Conversation, Lost1AServerThatCameBackWithLessLosesTheCopy) {
  for (const std::uint64_t number : {3U, 5U}) {
    Talk talk;
    talk.machine().resolved(model::stamp(5), 0);
    talk.lose(1);
    ASSERT_EQ(talk.machine().life().use(2), Opening::Step::send);
    Conversation::OpenAnswer answer;
    answer.on = 2;
    answer.opened.newest = model::stamp(number);
    const auto expected = number == 3 ? Conversation::Opened::older : Conversation::Opened::open;
    EXPECT_EQ(talk.machine().opened(answer, 0, talk.effects()), expected);
  }
}

// The copy is of version 2 and the server lost versions 3 to 9, of which the client had heard. Else
// version 3 would not count as a change.
TEST(Conversation, Coh11AServerThatWentBackFromWhatWasHeardSaysWhatIsNewest) {
  Talk talk;
  talk.machine().resolved(model::stamp(2), 0);
  talk.machine().state().newest_is(model::stamp(9), 0);
  talk.lose(1);
  ASSERT_EQ(talk.machine().life().use(2), Opening::Step::send);
  Conversation::OpenAnswer answer;
  answer.on = 2;
  answer.opened.newest = model::stamp(2);
  ASSERT_EQ(talk.machine().opened(answer, 0, talk.effects()), Conversation::Opened::open);
  EXPECT_EQ(talk.machine().state().newest(), model::stamp(2));
  talk.machine().state().newest_is(model::stamp(3), 0);
  EXPECT_EQ(talk.machine().state().newest(), model::stamp(3));
}

// The program still has the blocks of the version that it saw last.
TEST(Conversation, Lost1ACopyThatIsToBeFetchedAnewIsLostToo) {
  Talk talk;
  talk.machine().resolved(model::stamp(5), 0);
  talk.machine().state().forget();
  EXPECT_TRUE(talk.machine().has_content());
  talk.lose(1);
  ASSERT_EQ(talk.machine().life().use(2), Opening::Step::send);
  Conversation::OpenAnswer answer;
  answer.on = 2;
  answer.code = error_code::NO_SEGMENT;
  EXPECT_EQ(talk.machine().opened(answer, 0, talk.effects()), Conversation::Opened::gone);
}

TEST(Conversation, Open2AnOpeningThatFindsTheCopyLostIsClosed) {
  Talk talk;
  talk.machine().resolved(model::stamp(5), 0);
  talk.lose(1);
  (void)talk.messages();
  ASSERT_EQ(talk.machine().life().use(2), Opening::Step::send);
  Conversation::OpenAnswer answer;
  answer.on = 2;
  answer.opened.segment = 9;
  answer.opened.newest = model::stamp(3);
  ASSERT_EQ(talk.machine().opened(answer, 0, talk.effects()), Conversation::Opened::older);
  const std::vector<Effect> closing = talk.messages();
  ASSERT_TRUE(is_one(closing, Kind::close_segment));
  EXPECT_EQ(closing.front().on, 2u);
  EXPECT_EQ(closing.front().segment, 9u);
  talk.said(closing.front(), Said::sent);
  EXPECT_FALSE(talk.machine().life().must_tell());
}

TEST(Conversation, Lost2AndOpen2ALossIsToldToTheServerThatLivesBeforeTheNextOpening) {
  for (const Said outcome : {Said::sent, Said::no_memory, Said::no_connection}) {
    Talk talk;
    talk.grant(5, 1);
    talk.machine().vanish(0, talk.effects());
    const std::vector<Effect> closing = talk.messages();
    ASSERT_TRUE(is_one(closing, Kind::close_segment));
    EXPECT_EQ(closing.front().on, 1u);
    EXPECT_EQ(talk.machine().life().open(1), Opening::Step::wait);
    EXPECT_EQ(talk.machine().life().use(1), Opening::Step::lost);
    talk.said(closing.front(), outcome);
    EXPECT_EQ(talk.machine().must_close(), outcome == Said::no_memory);
    const auto next = outcome == Said::no_memory ? Opening::Step::wait : Opening::Step::lost;
    EXPECT_EQ(talk.machine().life().open(1), next);
  }
}

TEST(Conversation, Open2TheCloseOfALostSegmentWaitsForAMessageThatAnotherThreadSends) {
  Talk talk;
  talk.machine().listen(true);
  const std::vector<Effect> taken = talk.ticked();
  ASSERT_TRUE(is_one(taken, Kind::subscribe));
  talk.machine().vanish(0, talk.effects());
  EXPECT_TRUE(talk.messages().empty());
  (void)talk.was_woken();
  talk.said(taken.front(), Said::sent);
  EXPECT_TRUE(talk.was_woken());
  ASSERT_TRUE(talk.machine().must_close());
  talk.machine().close(talk.effects());
  EXPECT_TRUE(is_one(talk.messages(), Kind::close_segment));
}

TEST(Conversation, Open2NothingFollowsTheCloseOfALostSegment) {
  Talk talk;
  talk.machine().vanish(0, talk.effects());
  ASSERT_TRUE(is_one(talk.messages(), Kind::close_segment));
  // A reader that was inside leaves, and a grant that crossed is given back.
  talk.machine().strict_unused(talk.effects());
  talk.machine().return_strict(false, talk.effects());
  talk.grant(5, 1);
  talk.machine().abort(talk.effects());
  const std::vector<Effect> late = talk.messages();
  EXPECT_EQ(late.size(), 2u);
  for (const Effect& one : late) EXPECT_EQ(one.on, 0u);
}

TEST(Conversation, ARefusedOpeningIsTriedAgain) {
  Talk talk;
  talk.lose(1);
  ASSERT_EQ(talk.machine().life().use(2), Opening::Step::send);
  Conversation::OpenAnswer answer;
  answer.on = 2;
  answer.code = error_code::DENIED;
  EXPECT_EQ(talk.machine().opened(answer, 0, talk.effects()), Conversation::Opened::refused);
  EXPECT_EQ(talk.machine().life().use(2), Opening::Step::send);
}

TEST(Conversation, TheLibrarysThreadIsWokenAfterTheMessageThatACloseWaitsFor) {
  Talk talk;
  talk.machine().listen(true);
  const std::vector<Effect> taken = talk.ticked();
  (void)talk.close();
  (void)talk.was_woken();
  talk.said(taken.front(), Said::sent);
  EXPECT_TRUE(talk.was_woken());
}

TEST(Conversation, TheLibrarysThreadIsWokenByAnOpeningAndByAPromiseOfTheWrongModel) {
  Talk talk;
  EXPECT_TRUE(talk.was_woken());
  talk.machine().listen(true);
  const std::vector<Effect> asked = talk.ticked();
  talk.said(asked.front(), Said::sent);
  talk.machine().listen(false);
  talk.answered(message_type::SUBSCRIBE, {.type = message_type::SUBSCRIBED}, 1);
  EXPECT_TRUE(talk.was_woken());
}

TEST(Conversation, TheLibrarysThreadIsWokenForAChangeAndForAnUnusedStrictLock) {
  Talk talk;
  talk.machine().listen(true);
  (void)talk.was_woken();
  talk.answered({}, {.type = message_type::NOT_RECENT, .is_notification = true, .number = 3}, 1);
  EXPECT_TRUE(talk.was_woken());
  talk.machine().strict_unused(talk.effects());
  EXPECT_TRUE(talk.was_woken());
}

TEST(Conversation, Lock3ARenewalWithoutMemoryIsSentByTheNextTick) {
  Talk talk;
  talk.grant(5, 1);
  const Conversation::Moment due{.now_ns = 15'000'000'000};
  talk.machine().tick(due, talk.effects());
  const std::vector<Effect> first = talk.messages();
  ASSERT_TRUE(is_one(first, Kind::renew_writer));
  talk.machine().tick(due, talk.effects());
  EXPECT_TRUE(talk.messages().empty());
  talk.said(first.front(), Said::no_memory);
  talk.machine().tick(due, talk.effects());
  EXPECT_TRUE(is_one(talk.messages(), Kind::renew_writer));
}

TEST(Conversation, Lock5ARefusedRenewalLosesTheLockAndStillGivesItBack) {
  Talk talk;
  talk.grant(5, 1);
  talk.machine().tick({.now_ns = 15'000'000'000}, talk.effects());
  talk.said(talk.messages().front(), Said::sent);
  talk.answered(message_type::RENEW_WRITER, {.type = message_type::ERROR}, 1);
  EXPECT_TRUE(talk.machine().grant().is_lost());
  talk.machine().end_writing(talk.effects());
  EXPECT_TRUE(is_one(talk.returned_late(), Kind::abort_writer));
}

TEST(Conversation, Lock5ALockThatTheServerTookIsNotGivenBack) {
  Talk talk;
  talk.grant(5, 1);
  talk.answered({}, {.type = message_type::WRITER_LOST, .is_notification = true, .fence = 5}, 1);
  EXPECT_TRUE(talk.machine().grant().is_lost());
  talk.machine().abort(talk.effects());
  EXPECT_TRUE(talk.messages().empty());
  talk.machine().end_writing(talk.effects());
  EXPECT_TRUE(talk.returned_late().empty());
}

TEST(Conversation, Lost4AVanishedSegmentLosesItsLockAndTellsItsListener) {
  Talk talk;
  talk.grant(5, 1);
  talk.machine().listen(true);
  talk.machine().vanish(17, talk.effects());
  EXPECT_TRUE(talk.machine().grant().is_lost());
  EXPECT_EQ(talk.machine().change_due_ns(), 17);
}

TEST(Conversation, Open2AnOpeningThatNobodyWantsIsClosedByATick) {
  Talk talk;
  talk.said(talk.close().front(), Said::sent);
  ASSERT_EQ(talk.machine().life().stage(), Opening::Stage::shut);
  (void)talk.was_woken();
  talk.machine().opened_in_vain(1, 9, talk.effects());
  EXPECT_TRUE(talk.machine().must_close());
  EXPECT_TRUE(talk.was_woken());
  talk.machine().close(talk.effects());
  const std::vector<Effect> closing = talk.messages();
  ASSERT_TRUE(is_one(closing, Kind::close_segment));
  EXPECT_EQ(closing.front().segment, 9u) << "its number in this opening";
}

TEST(Conversation, Open2AnOpeningThatIsAnsweredTooLateIsClosedByWhoeverClosesTheSegment) {
  Talk talk;
  talk.lose(1);
  (void)talk.was_woken();
  talk.machine().opened_in_vain(2, 9, talk.effects());
  EXPECT_FALSE(talk.machine().must_close());
  EXPECT_FALSE(talk.was_woken());
  const std::vector<Effect> closing = talk.close();
  ASSERT_TRUE(is_one(closing, Kind::close_segment));
  EXPECT_EQ(closing.front().on, 2u);
  EXPECT_EQ(closing.front().segment, 9u);
}

TEST(Conversation, Open2ACloseWithoutMemoryIsSentByATick) {
  Talk talk;
  const std::vector<Effect> closing = talk.close();
  (void)talk.was_woken();
  talk.said(closing.front(), Said::no_memory);
  EXPECT_TRUE(talk.was_woken());
  EXPECT_TRUE(talk.machine().must_close());
  EXPECT_EQ(talk.machine().life().stage(), Opening::Stage::closing);
}

TEST(Conversation, Lock6EachFurtherRangeOfSerialsIsTwiceAsLarge) {
  Talk talk;
  talk.grant(5, 1);
  talk.machine().want_serials();
  EXPECT_EQ(talk.machine().serials_question().count, 16u);
  talk.machine().want_serials();
  EXPECT_EQ(talk.machine().serials_question().count, 32u);
}

TEST(Conversation, Conn2AChangeThatTheProgramWasCalledForIsNotDueAgain) {
  Talk talk;
  talk.machine().listen(true);
  const model::Down told{.type = message_type::NOT_RECENT, .is_notification = true, .number = 3};
  talk.answered({}, told, 1);
  EXPECT_EQ(talk.machine().change_due_ns(), 0);
  EXPECT_EQ(talk.machine().take_change(), 3u);
  talk.answered({}, told, 1);
  EXPECT_EQ(talk.machine().change_due_ns(), Conversation::never_due_ns);
  talk.pushed(0, 3);
  EXPECT_EQ(talk.machine().change_due_ns(), Conversation::never_due_ns);
  talk.pushed(3, 4);
  EXPECT_EQ(talk.machine().change_due_ns(), 0);
  EXPECT_EQ(talk.machine().take_change(), 4u);
}

TEST(Conversation, AMessageWithoutMemoryIsSentAnotherTime) {
  EXPECT_EQ(Conversation::said_by(error_code::OK), Said::sent);
  EXPECT_EQ(Conversation::said_by(error_code::NO_MEMORY), Said::no_memory);
  EXPECT_EQ(Conversation::said_by(error_code::UNREACHABLE), Said::no_connection);
}

TEST(Conversation, ARequestNamesItsSegmentWhatIsHereAndItsDeadline) {
  Talk talk;
  talk.machine().resolved(model::stamp(4), 0);
  const protocol::acquire_reader read =
      talk.machine().question({coherence::Model::DELTA, 2.5}, true, 77);
  EXPECT_EQ(read,
            (protocol::acquire_reader{7, model::stamp(4), coherence::Model::DELTA, 2.5, true, 77}));
  EXPECT_EQ(talk.machine().writer_question(78), (protocol::acquire_writer{7, model::stamp(4), 78}));
  talk.grant(5, 1);
  talk.machine().release().number(other_session, 12, 0);
  const protocol::release_writer release = talk.machine().release_message(99);
  EXPECT_EQ(release.sequence, 12u);
  EXPECT_EQ(release.parts, (std::vector{protocol::release_part{7, 5, model::stamp(4), 99}}));
  EXPECT_EQ(talk.machine().resolve_question(), (protocol::resolve_release{7, other_session, 12}));
  talk.machine().want_serials();
  EXPECT_EQ(talk.machine().serials_question(), (protocol::more_serials{7, 5, 16}));
  for (int i = 0; i < 30; ++i) talk.machine().want_serials();
  EXPECT_EQ(talk.machine().serials_question().count, 65536u);
}

TEST(Conversation, TicksHaveSomethingToDoUnlessASegmentIsAtRest) {
  const auto is_at_rest = [](auto happens) {
    Talk talk;
    EXPECT_TRUE(talk.machine().is_at_rest());
    EXPECT_EQ(talk.machine().due_ns(), Conversation::never_due_ns);
    happens(talk);
    return talk.machine().is_at_rest();
  };
  EXPECT_FALSE(is_at_rest([](Talk& talk) { talk.machine().listen(true); }));
  EXPECT_FALSE(is_at_rest([](Talk& talk) { talk.grant(5, 1); }));
  EXPECT_FALSE(is_at_rest([](Talk& talk) { talk.machine().strict_unused(talk.effects()); }));
  EXPECT_FALSE(is_at_rest([](Talk& talk) { talk.said(talk.close().front(), Said::no_memory); }));
  EXPECT_FALSE(is_at_rest([](Talk& talk) {
    talk.answered(message_type::ACQUIRE_WRITER, {.type = message_type::WRITER_ACQUIRED, .fence = 5},
                  1, true);
  }));
  EXPECT_TRUE(is_at_rest([](Talk& talk) {
    talk.grant(5, 1);
    EXPECT_EQ(talk.machine().due_ns(), talk.machine().grant().renewal_due_ns());
    talk.machine().abort(talk.effects());
    talk.machine().end_writing(talk.effects());
  }));
}

}  // namespace
}  // namespace iw::session
