// The table of what becomes of a release, row by row [LOCK-8, LOCK-9, CONN-4]. The orders in which
// its attempts fail are in conversation_orders_test.cc.
#include "session/release.h"

#include <gtest/gtest.h>

#include <vector>

namespace iw::session {
namespace {

using Attempt = Release::Attempt;
using Code = Release::Code;
using Next = Release::Next;
using Way = Release::Way;

constexpr protocol::session_id mine{1};
constexpr protocol::session_id other{2};

struct Row {
  Attempt attempt;
  Code code;
  Next unsent;
  Next sent;
};

// Rows for answers have no case of a release that was not sent.
const std::vector<Row> rows{
    {Attempt::reach, Code::UNREACHABLE, Next::rolled_back, Next::unknown},
    {Attempt::reach, Code::SEGMENT_LOST, Next::rolled_back, Next::rolled_back},
    {Attempt::reach, Code::NO_SEGMENT, Next::rolled_back, Next::rolled_back},
    {Attempt::reach, Code::REMOVED, Next::rolled_back, Next::rolled_back},
    {Attempt::reach, Code::NOT_OPEN, Next::rolled_back, Next::rolled_back},
    {Attempt::reach, Code::NO_MEMORY, Next::unsent, Next::pause},
    {Attempt::reach, Code::TIMED_OUT, Next::held, Next::pause},
    {Attempt::reach, Code::STORE_FULL, Next::held, Next::pause},
    {Attempt::reach, Code::STORE_ALONE, Next::held, Next::pause},
    {Attempt::reach, Code::STORE_AWAY, Next::held, Next::pause},
    {Attempt::reach, Code::STOPPING, Next::rolled_back, Next::pause},
    {Attempt::send, Code::UNREACHABLE, Next::again, Next::again},
    {Attempt::send, Code::NO_MEMORY, Next::unsent, Next::pause},
    {Attempt::answered, Code::OK, Next::committed, Next::committed},
    {Attempt::answered, Code::STOPPING, Next::pause, Next::pause},
    {Attempt::answered, Code::REDIRECTED, Next::again, Next::again},
    {Attempt::answered, Code::STORE_FULL, Next::held, Next::held},
    {Attempt::answered, Code::STORE_ALONE, Next::held, Next::held},
    {Attempt::answered, Code::STORE_AWAY, Next::held, Next::held},
    {Attempt::answered, Code::TIMED_OUT, Next::held, Next::held},
    {Attempt::answered, Code::TOO_LARGE, Next::held, Next::held},
    {Attempt::answered, Code::UNREACHABLE, Next::unknown, Next::unknown},
    {Attempt::answered, Code::FENCED, Next::rolled_back, Next::rolled_back},
    {Attempt::answered, Code::NO_MEMORY, Next::rolled_back, Next::rolled_back},
    {Attempt::resolve, Code::OK, Next::committed, Next::committed},
    {Attempt::resolve, Code::ROLLED_BACK, Next::rolled_back, Next::rolled_back},
    {Attempt::resolve, Code::UNREACHABLE, Next::unknown, Next::unknown},
    {Attempt::resolve, Code::NO_SEGMENT, Next::rolled_back, Next::rolled_back},
    {Attempt::resolve, Code::TIMED_OUT, Next::pause, Next::pause},
};

Release release(bool was_sent) {
  Release one;
  one.number(mine, 3, 0);
  one.sent(was_sent);
  return one;
}

bool is_over(Next next) { return next != Next::again && next != Next::pause; }

TEST(Release, Lock9AndConn4TheTableHoldsRowByRow) {
  for (const Row& row : rows) {
    const auto code = static_cast<int>(row.code);
    EXPECT_EQ(release(false).after(row.attempt, row.code, false), row.unsent) << code;
    EXPECT_EQ(release(true).after(row.attempt, row.code, false), row.sent) << code;
  }
}

TEST(Release, Conn4AtTheDeadlineAnUnsentReleaseIsUndoneAndASentOneIsUnknown) {
  for (const Row& row : rows) {
    const Next unsent = release(false).after(row.attempt, row.code, true);
    const Next sent = release(true).after(row.attempt, row.code, true);
    EXPECT_EQ(unsent, is_over(row.unsent) ? row.unsent : Next::rolled_back);
    EXPECT_EQ(sent, is_over(row.sent) ? row.sent : Next::unknown);
  }
}

TEST(Release, Lock8OnlyTheSessionThatSentItSendsItAgain) {
  EXPECT_EQ(release(false).way(mine), Way::send);
  EXPECT_EQ(release(true).way(mine), Way::send);
  EXPECT_EQ(release(true).way(other), Way::resolve);
  EXPECT_EQ(release(false).way(other), Way::none);
}

TEST(Release, ACutMessageDoesNotUndoAnEarlierWholeOne) {
  Release one = release(true);
  one.sent(false);
  EXPECT_TRUE(one.was_sent());
  one.begin();
  EXPECT_FALSE(one.was_sent());
  EXPECT_FALSE(one.has_sequence());
}

}  // namespace
}  // namespace iw::session
