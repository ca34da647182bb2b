// A client whose URL names several hosts of one space [MIP-7]. The servers' answers are scripted.
#include <atomic>
#include <string>

#include "client/own_token_fixture.h"
#include "client/space_fixture.h"

namespace iw::client {
namespace {

Answer refused(error_code code, const std::string& why) {
  return {message_type::ERROR, session::encoded(protocol::plain_error{code, why})};
}

class SeveralHostsTest : public SpaceTest {
 protected:
  // Asks, and does not wait for long.
  static Result try_to_read(Segment& segment) {
    return segment.acquire_reader(segment.wish_for(brief_s, true));
  }
};

bool has(const Result& result, const std::string& text) {
  return result.text.find(text) != std::string::npos;
}

TEST_F(SeveralHostsTest, Space46TheFirstHostIsUsedAsLongAsItIsThere) {
  Member one;
  Member two;
  const auto segment = opened(url_of({one, two}));
  ASSERT_NE(segment, nullptr);
  EXPECT_TRUE(read(*segment).ok());
  EXPECT_EQ(segment->name(), "iw://" + one->address() + "," + two->address() + "/scripted");
  EXPECT_EQ(one->asked(message_type::ACQUIRE_READER), 1);
  EXPECT_EQ(two->asked(message_type::HELLO), 0);
  EXPECT_TRUE(segment->close().ok());
}

TEST_F(SeveralHostsTest, Space46HostsThatCannotBeReachedOrStopArePassedOver) {
  Member ended;
  ended->end();
  Member stopping({{message_type::HELLO, [] { return refused(error_code::STOPPING, "later"); }}});
  Member standing;
  const auto segment = opened(url_of({ended, stopping, standing}));
  ASSERT_NE(segment, nullptr);
  EXPECT_EQ(stopping->asked(message_type::HELLO), 1);
  EXPECT_EQ(standing->asked(message_type::OPEN_SEGMENT), 1);
  EXPECT_TRUE(segment->close().ok());
}

TEST_F(SeveralHostsTest, Space46AHostThatIsThereKeepsItsClientAndTheNextOneComesAfterIt) {
  Member one;
  Member two;
  const auto segment = opened(url_of({one, two}));
  ASSERT_NE(segment, nullptr);
  one->hang_up();
  EXPECT_TRUE(read(*segment).ok());
  EXPECT_EQ(one->asked(message_type::HELLO), 2);
  EXPECT_EQ(one->last<protocol::hello>(message_type::HELLO).session[0], one.session());
  EXPECT_EQ(two->asked(message_type::HELLO), 0);
  one->end();
  EXPECT_TRUE(read(*segment).ok());
  EXPECT_EQ(two->asked(message_type::OPEN_SEGMENT), 1);
  two->hang_up();
  EXPECT_TRUE(read(*segment).ok());
  EXPECT_EQ(two->asked(message_type::HELLO), 2);
  EXPECT_TRUE(segment->close().ok());
}

TEST_F(SeveralHostsTest, Space46TheErrorNamesEachHostWithWhatHappenedThere) {
  Member ended;
  ended->end();
  Member stopping({{message_type::HELLO, [] { return refused(error_code::STOPPING, "later"); }}});
  IW_segment* handle = nullptr;
  const Result result = open(url_of({ended, stopping}), handle);
  EXPECT_EQ(result.code, error_code::UNREACHABLE) << result.text;
  EXPECT_TRUE(has(result, ended->address() + ": Connection refused")) << result.text;
  EXPECT_TRUE(has(result, stopping->address() + ": later")) << result.text;
}

TEST_F(SeveralHostsTest, Space67AHostThatStopsAndOpensNothingIsPassedOver) {
  Member one({{message_type::OPEN_SEGMENT, [] { return refused(error_code::STOPPING, "later"); }}});
  Member other({}, 2);
  Member two;
  Member three;
  const auto segment = opened(url_of({three, one, other, two}));
  ASSERT_NE(segment, nullptr);
  EXPECT_EQ(three->asked(message_type::OPEN_SEGMENT), 1);
  EXPECT_EQ(one->asked(message_type::HELLO), 0);
  EXPECT_TRUE(segment->close().ok());
  const auto moved_on = opened(url_of({one, other, two, three}));
  ASSERT_NE(moved_on, nullptr);
  EXPECT_EQ(one->asked(message_type::OPEN_SEGMENT), 1);
  EXPECT_EQ(other->asked(message_type::OPEN_SEGMENT), 0) << "another space [SPACE-47]";
  EXPECT_EQ(two->asked(message_type::OPEN_SEGMENT), 1);
  EXPECT_EQ(three->asked(message_type::OPEN_SEGMENT), 1);
  EXPECT_TRUE(read(*moved_on).ok());
  EXPECT_EQ(two->asked(message_type::ACQUIRE_READER), 1);
  const auto hello = two->last<protocol::hello>(message_type::HELLO);
  EXPECT_EQ(hello.session, protocol::session_id{}) << "a session of its own";
  EXPECT_EQ(hello.token, "the token");
  EXPECT_TRUE(moved_on->close().ok());
}

TEST_F(SeveralHostsTest, Space67AHostThatIsLostBeforeItOpensIsPassedOver) {
  for (const bool comes_back : {false, true}) {
    Member* lost = nullptr;
    Member one({{message_type::OPEN_SEGMENT, [&lost, comes_back] {
                   if (comes_back) {
                     (*lost)->hang_up();
                   } else {
                     (*lost)->end();
                   }
                   return Answer{message_type::DONE, {}};
                 }}});
    lost = &one;
    Member two;
    const auto segment = opened(url_of({one, two}));
    ASSERT_NE(segment, nullptr);
    EXPECT_TRUE(read(*segment).ok());
    EXPECT_EQ(two->asked(message_type::ACQUIRE_READER), 1);
    EXPECT_TRUE(segment->close().ok());
  }
}

TEST_F(SeveralHostsTest, Space67AHostThatMayHaveTheLocksOfAnOpenSegmentIsAskedAgain) {
  Member* one = nullptr;
  std::atomic<int> openings{0};
  Member first({{message_type::OPEN_SEGMENT, [&one, &openings] {
                   if (++openings == 2) (*one)->hang_up();
                   return ScriptedServer::opened();
                 }}});
  one = &first;
  Member two;
  const auto segment = opened(url_of({first, two}));
  ASSERT_NE(segment, nullptr);
  first->hang_up();
  EXPECT_TRUE(read(*segment).ok());
  EXPECT_EQ(first->asked(message_type::OPEN_SEGMENT), 3);
  EXPECT_EQ(two->asked(message_type::HELLO), 0);
  EXPECT_TRUE(segment->close().ok());
}

TEST_F(SeveralHostsTest, Space67TheErrorNamesEachHostThatDoesNotOpenTheSegment) {
  Member one({{message_type::OPEN_SEGMENT, [] { return refused(error_code::STOPPING, "later"); }}});
  Member two({{message_type::HELLO, [] { return refused(error_code::STOPPING, "not now"); }}});
  IW_segment* handle = nullptr;
  const Result stopping = open(url_of({one, two}), handle);
  EXPECT_EQ(stopping.code, error_code::STOPPING) << stopping.text;
  Member ended;
  ended->end();
  const Result away = open(url_of({one, two, ended}), handle);
  EXPECT_EQ(away.code, error_code::UNREACHABLE) << away.text;
  EXPECT_TRUE(has(away, one->address() + ": later")) << away.text;
  EXPECT_TRUE(has(away, two->address() + ": not now")) << away.text;
  EXPECT_TRUE(has(away, ended->address() + " cannot be reached: Connection refused")) << away.text;
  EXPECT_EQ(away.text.find("sent on"), std::string::npos) << away.text;
}

TEST_F(SeveralHostsTest, Space67TheNextHostsAnswerToTheOpeningCounts) {
  Member one({{message_type::OPEN_SEGMENT, [] { return refused(error_code::STOPPING, "later"); }}});
  Member two({{message_type::OPEN_SEGMENT, [] { return refused(error_code::DENIED, "not you"); }}});
  Member three;
  IW_segment* handle = nullptr;
  EXPECT_EQ(open(url_of({one, two, three}), handle).code, error_code::DENIED);
  EXPECT_EQ(three->asked(message_type::HELLO), 0);
}

TEST_F(SeveralHostsTest, Space46AnotherErrorOfHelloIsFinal) {
  Member denies({{message_type::HELLO, [] { return refused(error_code::DENIED, "not you"); }}});
  Member other;
  IW_segment* handle = nullptr;
  EXPECT_EQ(open(url_of({denies, other}), handle).code, error_code::DENIED);
  EXPECT_EQ(other->asked(message_type::HELLO), 0);
}

TEST_F(SeveralHostsTest, Space47AHostOfAnotherSpaceOrOfNoneIsLeft) {
  for (const std::uint8_t space : {std::uint8_t{2}, std::uint8_t{0}}) {
    Member one;
    Member other({}, space);
    const auto segment = opened(url_of({one, other}));
    ASSERT_NE(segment, nullptr);
    one->end();
    const Result result = try_to_read(*segment);
    EXPECT_EQ(result.code, error_code::UNREACHABLE) << result.text;
    EXPECT_TRUE(has(result, "space")) << result.text;
    EXPECT_TRUE(has(result, one->address() + ": Connection refused")) << result.text;
    EXPECT_TRUE(other->is_left());
    EXPECT_EQ(other->asked(message_type::OPEN_SEGMENT), 0);
    EXPECT_TRUE(segment->close().ok());
  }
}

// [SPACE-47] [LOCK-9] The other host does not know the session, and gives a new one.
TEST_F(SeveralHostsTest, Space47AReleaseWithoutAnswerIsResolvedByTheNextHost) {
  Member two({{message_type::RESOLVE_RELEASE, [] {
                 protocol::release_resolved body;
                 body.committed = true;
                 body.version = {1, 1, 1};
                 return Answer{message_type::RELEASE_RESOLVED, session::encoded(body)};
               }}});
  Member* lost = nullptr;
  Member one({{message_type::ACQUIRE_WRITER, granted}, {message_type::RELEASE_WRITER, [&lost] {
                                                          (*lost)->end();
                                                          return Answer{message_type::DONE, {}};
                                                        }}});
  lost = &one;
  const auto segment = opened(url_of({one, two}));
  ASSERT_NE(segment, nullptr);
  const Result acquired = segment->acquire_writer(segment->wish_for(20));
  ASSERT_TRUE(acquired.ok()) << acquired.text;
  const Result released = segment->release_writer();
  EXPECT_TRUE(released.ok()) << released.text;
  const auto hello = two->last<protocol::hello>(message_type::HELLO);
  EXPECT_EQ(hello.session[0], one.session());
  EXPECT_EQ(hello.token, "the token");
  const auto asked_about = two->last<protocol::resolve_release>(message_type::RESOLVE_RELEASE);
  EXPECT_EQ(asked_about.session[0], one.session());
  EXPECT_TRUE(segment->close().ok());
}

// [OWN-3]
TEST_F(SeveralHostsTest, EachHostIsShownTheTokenOfItsOwnServer) {
  const OwnTokenFolder folder;
  Member one;
  Member two;
  folder.write(url(one).port, "of one");
  folder.write(url(two).port, "of two");
  IW_segment* handle = nullptr;
  OpenWish wish;
  const Credentials none("", nullptr, nullptr, nullptr);
  ASSERT_TRUE(runtime_->open(url_of({one, two}), none, wish, handle).ok());
  const auto segment = runtime_->find_segment(url_of({one, two}));
  one->end();
  EXPECT_TRUE(read(*segment).ok());
  EXPECT_EQ(one->last<protocol::hello>(message_type::HELLO).token, "of one");
  EXPECT_EQ(two->last<protocol::hello>(message_type::HELLO).token, "of two");
  EXPECT_TRUE(segment->close().ok());
}

TEST_F(SeveralHostsTest, Space10AServerSendsTheClientBackToTheHostThatItHas) {
  Member one;
  Member two;
  Member three;
  const auto first = opened(url_of({one, two}));
  ASSERT_NE(first, nullptr);
  one.give("/other", three);
  three.give("/other", one);
  types::Url other = url_of({one, two});
  other.path = "/other";
  IW_segment* handle = nullptr;
  EXPECT_EQ(open(other, handle).code, error_code::REDIRECTED);
  EXPECT_EQ(one->asked(message_type::HELLO), 1);
  // A host of the list that the client is not connected to has a session of its own.
  one.give("/other", two);
  const auto segment = opened(other);
  ASSERT_NE(segment, nullptr);
  EXPECT_EQ(one->asked(message_type::HELLO), 1);
  EXPECT_EQ(two->last<protocol::hello>(message_type::HELLO).session, protocol::session_id{});
  EXPECT_TRUE(segment->close().ok());
  EXPECT_TRUE(first->close().ok());
}

}  // namespace
}  // namespace iw::client
