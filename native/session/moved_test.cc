// What a conversation does when its segment moves to another server [SPACE-20, SPACE-23]. The
// connection on which the segment was open stays.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "protocol/moving.gen.h"
#include "session/talk_fixture.h"

namespace iw::session {
namespace {

constexpr std::uint32_t number = 7;

Conversation::Brought told_of_move(Talk& talk, std::uint32_t segment, ConnectionNumber on,
                                   const std::string& to = "b.example:7747") {
  model::Delivery told({.type = message_type::SEGMENT_MOVED, .is_notification = true}, on, 0);
  told.incoming().message.body = encoded(protocol::segment_moved{segment, to, "b"});
  return talk.machine().heard(told.incoming(), false, {}, talk.effects());
}

Conversation::Brought redirected(Talk& talk, message_type asked, ConnectionNumber on) {
  protocol::error_reply error{error_code::REDIRECTED, "elsewhere", {}};
  const protocol::redirect_field to{"b.example:7747", "b", false};
  error.fields.push_back(
      {static_cast<std::uint32_t>(protocol::field_key::FIELD_REDIRECT), encoded(to)});
  model::Delivery told({.type = message_type::ERROR, .asked = asked}, on, 0);
  told.incoming().message.body = encoded(error);
  return talk.machine().heard(told.incoming(), false, {}, talk.effects());
}

TEST(Moved, Space23TheSegmentIsOpenNowhereAndTheNextServerIsKnown) {
  for (const bool is_answer : {false, true}) {
    Talk talk;
    talk.watch();
    (void)talk.was_woken();
    const Conversation::Brought brought = is_answer
                                              ? redirected(talk, message_type::ACQUIRE_WRITER, 1)
                                              : told_of_move(talk, number, 1);
    ASSERT_TRUE(brought.moved_to.has_value());
    EXPECT_EQ(brought.moved_to->address, "b.example:7747");
    EXPECT_EQ(brought.moved_to->tls_name, "b");
    EXPECT_EQ(brought.moved_to->relay, !is_answer) << "SEGMENT_MOVED does not say";
    EXPECT_EQ(talk.machine().life().stage(), Opening::Stage::away);
    EXPECT_FALSE(talk.machine().state().subscription().has_value());
    EXPECT_TRUE(talk.was_woken());
    talk.open(2, other_session);
    EXPECT_TRUE(is_one(talk.ticked(), Kind::subscribe));
  }
}

TEST(Moved, Space23AMoveMayNameNoServer) {
  Talk talk;
  EXPECT_FALSE(told_of_move(talk, number, 1, "").moved_to.has_value());
  EXPECT_EQ(talk.machine().life().stage(), Opening::Stage::away);
}

TEST(Moved, Space23AMoveOfAnEarlierOpeningMeansNothing) {
  Talk talk;
  EXPECT_FALSE(told_of_move(talk, number + 1, 1).moved_to.has_value());
  EXPECT_FALSE(told_of_move(talk, number, 2).moved_to.has_value());
  EXPECT_FALSE(redirected(talk, message_type::ACQUIRE_READER, 2).moved_to.has_value());
  EXPECT_FALSE(redirected(talk, message_type::OPEN_SEGMENT, 1).moved_to.has_value());
  EXPECT_TRUE(talk.machine().life().is_open());
}

TEST(Moved, Space16NoLockOutlivesItsServer) {
  Talk talk;
  talk.grant(5, 1);
  (void)told_of_move(talk, number, 1);
  EXPECT_TRUE(talk.machine().grant().is_lost());
  talk.machine().end_writing(talk.effects());
  (void)talk.messages();
  // It moved back, and the session is the same.
  talk.open(1, first_session);
  EXPECT_TRUE(talk.returned_late().empty());
}

TEST(Moved, Space16WhatIsToBeGivenBackEndedWithTheMove) {
  Talk talk;
  talk.answered(message_type::ACQUIRE_WRITER, {.type = message_type::WRITER_ACQUIRED, .fence = 5},
                1, true);
  talk.machine().asks_strict();
  ASSERT_TRUE(talk.machine().has_late_grant());
  (void)told_of_move(talk, number, 1);
  EXPECT_FALSE(talk.machine().has_unused_strict());
  (void)talk.messages();
  // It moved back, and the session is the same.
  talk.open(1, first_session);
  EXPECT_FALSE(talk.machine().has_late_grant());
}

TEST(Moved, Space19AGrantThatIsKeptDoesNotServeAnotherSection) {
  Talk talk;
  talk.grant(5, 1);
  talk.answered(message_type::RELEASE_WRITER, {.type = message_type::WRITER_KEPT, .number = 1}, 1);
  talk.machine().end_writing(talk.effects());
  ASSERT_TRUE(talk.machine().grant().is_kept());
  (void)told_of_move(talk, number, 1);
  EXPECT_FALSE(talk.machine().resume_kept(0));
  EXPECT_TRUE(talk.returned_late().empty());
}

// Nothing changed, and still the copy is not confirmed any more.
TEST(Moved, Space20AReaderAsksAfterNotRecentOfItsOwnVersion) {
  Talk talk;
  talk.watch();
  ASSERT_TRUE(talk.machine().state().knowledge(0, 0).promised);
  talk.answered({}, {.type = message_type::NOT_RECENT, .is_notification = true, .number = 0}, 1);
  EXPECT_FALSE(talk.machine().state().knowledge(0, 0).promised);
}

TEST(Moved, MessagesThatCrossTheMoveChangeNothing) {
  Talk talk;
  talk.machine().listen(true);
  const std::vector<Effect> asked = talk.ticked();
  ASSERT_TRUE(is_one(asked, Kind::subscribe));
  (void)told_of_move(talk, number, 1);
  talk.open(2, other_session);
  talk.said(asked.front(), Said::sent);
  EXPECT_FALSE(redirected(talk, message_type::SUBSCRIBE, 1).moved_to.has_value());
  EXPECT_TRUE(is_one(talk.ticked(), Kind::subscribe));
}

}  // namespace
}  // namespace iw::session
