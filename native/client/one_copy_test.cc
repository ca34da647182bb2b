// A process has one copy of a segment, by whatever URL it is opened [SPACE-60..65]. The servers'
// answers are scripted.
#include <array>
#include <string>
#include <thread>

#include "client/space_fixture.h"

namespace iw::client {
namespace {

Answer described() {
  return {message_type::BLOCKS_DESCRIBED, session::encoded(protocol::blocks_described{})};
}

class OneCopyTest : public SpaceTest {
 protected:
  static void share(Member& one, Member& other) {
    one.shares_with({other});
    other.shares_with({one});
  }
  // Null, and a failure: it does not open.
  IW_segment* handle_of(const types::Url& url, const char* token = "the token") {
    IW_segment* handle = nullptr;
    OpenWish wish;
    wish.timeout_s = 20;
    const Credentials credentials(token, nullptr, nullptr, nullptr);
    const Result result = runtime_->open(url, credentials, wish, handle);
    EXPECT_TRUE(result.ok()) << result.text;
    return handle;
  }
  void close(IW_segment* handle) {
    EXPECT_TRUE((*handle)->close().ok());
    runtime_->closed(*handle);
  }
};

TEST_F(OneCopyTest, Space61TwoUrlsOfOneSegmentAreOneCopyWithTheFirstName) {
  Member one;
  Member two;
  share(one, two);
  IW_segment* const first = handle_of(url(one));
  IW_segment* const second = handle_of(url(two));
  ASSERT_EQ(first, second);
  EXPECT_EQ(second->name(), url(one).text());
  EXPECT_EQ(runtime_->find_segment(url(two)), runtime_->find_segment(url(one)));
  EXPECT_EQ(two->asked(message_type::OPEN_SEGMENT), 0);
  // From now on nobody is asked.
  const int asked = two->asked(message_type::LIST_MEMBERS);
  EXPECT_EQ(handle_of(url(two)), first);
  EXPECT_EQ(two->asked(message_type::LIST_MEMBERS), asked);
  // [OPEN-1]
  for (int opened = 0; opened < 3; ++opened) close(first);
  EXPECT_EQ(CallOn(*first).check_usable().code, error_code::NOT_OPEN);
  // [SPACE-65]
  IW_segment* const again = handle_of(url(two));
  EXPECT_EQ(again->name(), url(two).text());
  close(again);
}

TEST_F(OneCopyTest, Space61ListsOfTheSameHostsInOtherOrderAreOneCopy) {
  Member one;
  Member two;
  share(one, two);
  IW_segment* const first = handle_of(url_of({one, two}));
  EXPECT_EQ(handle_of(url_of({two, one})), first);
  EXPECT_EQ(two->asked(message_type::OPEN_SEGMENT), 0);
  close(first);
  close(first);
}

TEST_F(OneCopyTest, Space61ThreadsThatOpenTwoNamesAtOnceGetOneCopy) {
  for (int round = 0; round < 5; ++round) {
    Member one;
    Member two;
    share(one, two);
    std::array<IW_segment*, 2> handles{};
    std::thread other([&] { handles[1] = handle_of(url(two)); });
    handles[0] = handle_of(url(one));
    other.join();
    ASSERT_EQ(handles[0], handles[1]);
    close(handles[0]);
    close(handles[0]);
  }
}

// A restored store has the space id of the first one; so has a copy of a database.
TEST_F(OneCopyTest, Space60AnEqualSpaceIdAloneMakesNoNames) {
  Member alone;
  Member restored;
  Member member;
  Member copied;
  member.shares_with({});
  copied.shares_with({member});  // from the time before it was copied
  IW_segment* const first = handle_of(url(alone));
  IW_segment* const second = handle_of(url(restored));
  EXPECT_NE(first, second);
  IW_segment* const third = handle_of(url(member));
  IW_segment* const fourth = handle_of(url(copied));
  EXPECT_NE(third, fourth);
  EXPECT_NE(first, third);
  for (IW_segment* handle : {first, second, third, fourth}) close(handle);
}

TEST_F(OneCopyTest, Space60AServerOfAnotherSpaceIsAskedForNoMembers) {
  Member one;
  Member other({}, 2);
  share(one, other);
  IW_segment* const first = handle_of(url(one));
  IW_segment* const second = handle_of(url(other));
  EXPECT_NE(first, second);
  EXPECT_EQ(other->asked(message_type::LIST_MEMBERS), 0);
  close(first);
  close(second);
}

// The dead server would be waited for otherwise.
TEST_F(OneCopyTest, Space60ADeadServerOfAnotherSpaceIsNotAskedAtAll) {
  Member dead({}, 2);
  Member one;
  IW_segment* const first = handle_of(url(dead));
  dead->hang_up();
  const int greeted = dead->asked(message_type::HELLO);
  IW_segment* const second = handle_of(url(one));
  EXPECT_NE(first, second);
  EXPECT_EQ(dead->asked(message_type::HELLO), greeted);
  close(first);
  close(second);
}

TEST_F(OneCopyTest, Space62AnotherTokenHasACopyOfItsOwn) {
  Member one;
  Member two;
  share(one, two);
  IW_segment* const first = handle_of(url(one));
  IW_segment* const second = handle_of(url(two), "another token");
  EXPECT_NE(first, second);
  EXPECT_EQ(two->asked(message_type::OPEN_SEGMENT), 1);
  EXPECT_EQ(two->last<protocol::hello>(message_type::HELLO).token, "another token");
  close(first);
  close(second);
}

TEST_F(OneCopyTest, Space63TheCopyIsReachedThroughTheServersOfAllItsNames) {
  Member one;
  Member two;
  share(one, two);
  IW_segment* const handle = handle_of(url(one));
  ASSERT_EQ(handle_of(url(two)), handle);
  const auto segment = runtime_->find_segment(url(one));
  one->end();
  const Result result = read(*segment);
  EXPECT_TRUE(result.ok()) << result.text;
  EXPECT_EQ(two->asked(message_type::OPEN_SEGMENT), 1);
  EXPECT_EQ(segment->name(), url(one).text());
  two->hang_up();
  EXPECT_TRUE(read(*segment).ok());
  EXPECT_EQ(two->asked(message_type::OPEN_SEGMENT), 2);
  close(handle);
  close(handle);
}

TEST_F(OneCopyTest, Space63AServerThatServesAnotherSpaceNowIsNotAsked) {
  Member one;
  std::uint8_t space = 1;
  Member two({{message_type::HELLO, [&space] { return welcome(99, space); }}});
  share(one, two);
  IW_segment* const handle = handle_of(url(one));
  ASSERT_EQ(handle_of(url(two)), handle);
  const auto segment = runtime_->find_segment(url(one));
  space = 2;
  two->hang_up();
  one->end();
  const Result result = segment->acquire_reader(segment->wish_for(brief_s, true));
  EXPECT_EQ(result.code, error_code::UNREACHABLE) << result.text;
  EXPECT_EQ(two->asked(message_type::OPEN_SEGMENT), 0);
  close(handle);
  close(handle);
}

TEST_F(OneCopyTest, Space65AServerThatDoesNotAnswerLeavesTwoCopies) {
  Member one;
  Member two;
  share(one, two);
  IW_segment* const first = handle_of(url(one));
  one->end();
  IW_segment* const second = handle_of(url(two));
  EXPECT_NE(first, second);
  EXPECT_EQ(handle_of(url(two)), second);
  close(second);
  close(second);
  close(first);
}

TEST_F(OneCopyTest, Space64APointerToAnotherServerOfTheSpaceIsOneToThePathAtItsOwn) {
  Member one({{message_type::DESCRIBE_BLOCKS, described}});
  Member two;
  share(one, two);
  // A name that no test's program has shown a token before, whatever port the server has.
  types::Url there = url(two, "/target");
  there.host = "localhost";
  IW_segment* const handle = handle_of(url(one, "/pointing"));
  const auto from = runtime_->find_segment(url(one, "/pointing"));
  const std::int64_t deadline_ns = platform::now_ns() + 20'000'000'000;
  const Result result = runtime_->describe(*from, there, {1}, deadline_ns);
  ASSERT_TRUE(result.ok()) << result.text;
  const auto target = runtime_->find_segment(there);
  ASSERT_NE(target, nullptr);
  EXPECT_EQ(target->name(), url(one, "/target").text());
  EXPECT_EQ(one->last<protocol::open_segment>(message_type::OPEN_SEGMENT).path, "/target");
  EXPECT_EQ(one->last<protocol::hello>(message_type::HELLO).token, "the token");
  EXPECT_EQ(two->last<protocol::hello>(message_type::HELLO).token, "");
  EXPECT_EQ(two->asked(message_type::OPEN_SEGMENT), 0);
  // The program may show the other server more than a pointer does.
  two->hang_up();  // the server serves one connection at a time
  IW_segment* const opened = handle_of(there);
  EXPECT_EQ(opened->name(), url(one, "/target").text());
  EXPECT_EQ(two->last<protocol::hello>(message_type::HELLO).token, "the token");
  close(opened);
  close(handle);
}

TEST_F(OneCopyTest, Space64APointerByAnotherNameLeadsToTheCopyWhateverItsToken) {
  Member one({{message_type::DESCRIBE_BLOCKS, described}});
  Member two;
  Member elsewhere({}, 2);
  share(one, two);
  IW_segment* const handle = handle_of(url(one));
  IW_segment* const other = handle_of(url(elsewhere, "/pointing"));
  const auto from = runtime_->find_segment(url(elsewhere, "/pointing"));
  const std::int64_t deadline_ns = platform::now_ns() + 20'000'000'000;
  const Result result = runtime_->describe(*from, url(two), {1}, deadline_ns);
  ASSERT_TRUE(result.ok()) << result.text;
  EXPECT_EQ(runtime_->find_segment(url(two)), runtime_->find_segment(url(one)));
  EXPECT_EQ(two->asked(message_type::OPEN_SEGMENT), 0);
  // It is not reached through that server.
  one->end();
  const auto segment = runtime_->find_segment(url(one));
  EXPECT_FALSE(segment->acquire_reader(segment->wish_for(brief_s, true)).ok());
  EXPECT_EQ(two->asked(message_type::OPEN_SEGMENT), 0);
  close(other);
  close(handle);
}

}  // namespace
}  // namespace iw::client
