// Grants that a client keeps between its sections, and when the library's thread looks at them
// [LOCK-13..16].
#include <gtest/gtest.h>

#include <cstdint>

#include "session/conversation.h"
#include "session/conversation_fixture.h"
#include "session/talk_fixture.h"

namespace iw::session {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

// A section has ended, and its grant, with fence 5, is kept.
void keep(Talk& talk) {
  (void)talk.was_woken();
  talk.grant(5, 1);
  talk.answered(message_type::RELEASE_WRITER, {.type = message_type::WRITER_KEPT}, 1);
  talk.machine().end_writing(talk.effects());
  ASSERT_TRUE(talk.machine().grant().is_kept());
  ASSERT_FALSE(talk.was_woken()) << "the library's thread has nothing to do";
}

void recall(Talk& talk, std::uint64_t fence) {
  talk.answered({}, {.type = message_type::RECALL_WRITER, .is_notification = true, .fence = fence},
                1);
}

TEST(KeptGrants, Lock14AKeptGrantServesFurtherSectionsWithoutAMessage) {
  Talk talk;
  keep(talk);
  for (int section = 0; section < 3; ++section) {
    ASSERT_TRUE(talk.machine().resume_kept(second_ns));
    EXPECT_FALSE(talk.machine().grant().is_first()) << "its serials are used further";
    talk.machine().begin_writing();
    EXPECT_TRUE(talk.machine().is_on_newest(second_ns) || !talk.machine().state().has_copy());
    EXPECT_EQ(talk.machine().release_message(0).parts.front().fence, 5u);
    EXPECT_TRUE(talk.machine().may_end_unsaid(second_ns));
    if (section == 1) talk.machine().abort(talk.effects());
    talk.machine().end_writing(talk.effects());
    EXPECT_TRUE(talk.messages().empty());
  }
  EXPECT_FALSE(talk.machine().has_late_grant());
}

TEST(KeptGrants, Lock14NoSectionBeginsWhenAThirdOfTheLeaseIsOver) {
  Talk talk;
  keep(talk);
  const std::int64_t lease_ns = model::lease_ms * model::ns_per_ms;
  EXPECT_FALSE(talk.machine().resume_kept(lease_ns / 3));
  const std::vector<Effect> returned = talk.returned_late();
  ASSERT_TRUE(is_one(returned, Kind::abort_writer));
  EXPECT_EQ(returned.front().value, 5u);
}

TEST(KeptGrants, Lock14ASectionThatOutlivedItsLeaseAsksTheServer) {
  Talk talk;
  keep(talk);
  ASSERT_TRUE(talk.machine().resume_kept(second_ns));
  EXPECT_FALSE(talk.machine().may_end_unsaid(model::lease_ms * model::ns_per_ms));
}

TEST(KeptGrants, Lock13AFirstSectionIsNeverEndedWithoutAMessage) {
  Talk talk;
  talk.grant(5, 1);
  EXPECT_FALSE(talk.machine().may_end_unsaid(0));
  talk.machine().abort(talk.effects());
  EXPECT_TRUE(is_one(talk.messages(), Kind::abort_writer));
}

TEST(KeptGrants, Lock15AnIdleGrantIsRecalledByTheLibrarysThread) {
  Talk talk;
  keep(talk);
  recall(talk, 4);
  EXPECT_TRUE(talk.machine().grant().is_kept()) << "that was an earlier grant";
  recall(talk, 5);
  EXPECT_TRUE(talk.was_woken());
  EXPECT_FALSE(talk.machine().resume_kept(1));
  EXPECT_TRUE(is_one(talk.returned_late(), Kind::abort_writer));
}

TEST(KeptGrants, Lock15AGrantThatIsRecalledInASectionEndsWithIt) {
  for (const bool is_aborted : {false, true}) {
    Talk talk;
    keep(talk);
    ASSERT_TRUE(talk.machine().resume_kept(1));
    recall(talk, 5);
    EXPECT_FALSE(talk.was_woken());
    EXPECT_FALSE(talk.machine().may_end_unsaid(1));
    if (is_aborted) {
      talk.machine().abort(talk.effects());
      EXPECT_TRUE(is_one(talk.messages(), Kind::abort_writer));
    } else {
      talk.answered(message_type::RELEASE_WRITER,
                    {.type = message_type::WRITER_RELEASED, .number = 2}, 1);
    }
    talk.machine().end_writing(talk.effects());
    EXPECT_FALSE(talk.machine().grant().is_kept());
    EXPECT_FALSE(talk.machine().has_late_grant());
  }
}

TEST(KeptGrants, Lock13ARefusedReleaseGivesAKeptGrantBack) {
  Talk talk;
  keep(talk);
  ASSERT_TRUE(talk.machine().resume_kept(1));
  talk.answered(message_type::RELEASE_WRITER,
                {.type = message_type::ERROR, .code = error_code::STORE_FULL}, 1);
  EXPECT_FALSE(talk.machine().may_end_unsaid(1));
  talk.machine().end_writing(talk.effects());
  EXPECT_TRUE(talk.machine().has_late_grant());
}

TEST(KeptGrants, Lock15AnUnusedGrantIsGivenBackAfterASecond) {
  Talk talk;
  keep(talk);
  talk.machine().tick({.now_ns = second_ns - 1}, talk.effects());
  EXPECT_FALSE(talk.was_woken());
  talk.machine().tick({.now_ns = second_ns}, talk.effects());
  EXPECT_TRUE(talk.was_woken());
  EXPECT_TRUE(talk.machine().has_late_grant());
}

// The library's thread looks at a conversation when it is due, and at rest not at all.
TEST(KeptGrants, SaysWhenATickIsDueAndThatNoneIsAtRest) {
  Talk talk;
  EXPECT_TRUE(talk.machine().is_at_rest());
  keep(talk);
  EXPECT_FALSE(talk.machine().is_at_rest());
  EXPECT_EQ(talk.machine().due_ns(), second_ns);
  talk.machine().tick({.now_ns = second_ns}, talk.effects());
  EXPECT_FALSE(talk.machine().is_at_rest()) << "the grant is to be given back";
  talk.said(talk.returned_late().at(0), Said::sent);
  EXPECT_TRUE(talk.machine().is_at_rest());
  EXPECT_EQ(talk.machine().due_ns(), Conversation::never_due_ns);
}

TEST(KeptGrants, Lock16AKeptGrantEndsWithItsConnection) {
  for (const bool is_resumed : {false, true}) {
    Talk talk;
    keep(talk);
    talk.lose(1);
    EXPECT_FALSE(talk.machine().resume_kept(1));
    talk.open(2, is_resumed ? first_session : other_session);
    EXPECT_EQ(talk.machine().has_late_grant(), is_resumed);
  }
}

TEST(KeptGrants, Lock16WhatALostConnectionLeftIsNotKept) {
  Talk talk;
  talk.grant(5, 1);
  talk.lose(1);
  talk.open(2, first_session);
  talk.answered(message_type::RELEASE_WRITER, {.type = message_type::WRITER_KEPT, .number = 1}, 1);
  talk.machine().end_writing(talk.effects());
  EXPECT_FALSE(talk.machine().grant().is_kept());
  EXPECT_TRUE(talk.machine().has_late_grant());
}

TEST(KeptGrants, Lock5AKeptGrantThatTheServerTookIsNotGivenBack) {
  Talk talk;
  keep(talk);
  talk.answered({}, {.type = message_type::WRITER_LOST, .is_notification = true, .fence = 5}, 1);
  EXPECT_FALSE(talk.machine().resume_kept(1));
  EXPECT_FALSE(talk.machine().has_late_grant());
}

TEST(KeptGrants, Open2AKeptGrantEndsWithItsOpening) {
  Talk talk;
  keep(talk);
  EXPECT_TRUE(is_one(talk.close(), Kind::close_segment));
  EXPECT_FALSE(talk.machine().grant().is_kept());
  EXPECT_FALSE(talk.machine().has_late_grant());
}

}  // namespace
}  // namespace iw::session
