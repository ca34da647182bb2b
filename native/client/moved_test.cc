// A client whose segment moves from one server of a space to another [SPACE-23]. The servers'
// answers are scripted.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "client/space_fixture.h"

namespace iw::client {
namespace {

using MovedTest = SpaceTest;

constexpr const char* const path = "/moved";

TEST_F(MovedTest, Space23AClientSaysThatItFollows) {
  Member server;
  const auto segment = opened(url(server));
  ASSERT_NE(segment, nullptr);
  const auto hello = server->last<protocol::hello>(message_type::HELLO);
  protocol::moving_field moving;
  bool is_there = false;
  ASSERT_TRUE(session::find_field(hello.fields, field_key::FIELD_MOVING, moving, is_there).ok());
  EXPECT_TRUE(is_there && moving.follows_moves);
  EXPECT_TRUE(segment->close().ok());
}

TEST_F(MovedTest, Space23OtherSegmentsOfTheConnectionAreNotDisturbed) {
  Member next;
  Member server;
  const auto moved = opened(url(server, path));
  const auto other = opened(url(server, "/stays"));
  ASSERT_TRUE(moved != nullptr && other != nullptr);
  server.move(path, next);
  EXPECT_TRUE(read(*moved).ok());
  EXPECT_TRUE(read(*other).ok());
  EXPECT_EQ(next->asked(message_type::OPEN_SEGMENT), 1);
  EXPECT_EQ(next->asked(message_type::ACQUIRE_READER), 1);
  EXPECT_EQ(server->asked(message_type::OPEN_SEGMENT), 2) << "it said where the segment went";
  EXPECT_EQ(server->asked(message_type::HELLO), 1);
  EXPECT_EQ(moved->name(), url(server, path).text());
  EXPECT_TRUE(moved->close().ok());
  EXPECT_TRUE(next->is_asked(message_type::CLOSE_SEGMENT));
  EXPECT_EQ(server->asked(message_type::CLOSE_SEGMENT), 0);
  EXPECT_TRUE(other->close().ok());
}

TEST_F(MovedTest, Space23AListenerIsAtTheNextServerWithoutACall) {
  Member next;
  Member server;
  const auto segment = opened(url(server, path));
  ASSERT_NE(segment, nullptr);
  ASSERT_TRUE(runtime_->prepare_callbacks().ok());
  segment->set_change_fn([](IW_segment*, std::uint64_t, void*) {}, nullptr);
  ASSERT_TRUE(server->is_asked(message_type::SUBSCRIBE));
  server.move(path, next);
  EXPECT_TRUE(next->is_asked(message_type::SUBSCRIBE));
  EXPECT_EQ(server->asked(message_type::OPEN_SEGMENT), 1);
  EXPECT_TRUE(segment->close().ok());
}

TEST_F(MovedTest, Space23AWriterThatWaitsIsGrantedTheLockByTheNextServer) {
  Member next({{message_type::ACQUIRE_WRITER, granted}});
  Member* owner = nullptr;
  Member server({{message_type::ACQUIRE_WRITER, [&owner, &next] {
                    owner->give(path, next);
                    return owner->to_next_owner(owner->number_of(path));
                  }}});
  owner = &server;
  const auto segment = opened(url(server, path));
  ASSERT_NE(segment, nullptr);
  const Result acquired = segment->acquire_writer(segment->wish_for(20));
  ASSERT_TRUE(acquired.ok()) << acquired.text;
  EXPECT_TRUE(segment->abort_writer().ok());
  EXPECT_EQ(next->asked(message_type::ACQUIRE_WRITER), 1);
  EXPECT_EQ(server->asked(message_type::HELLO), 1);
  EXPECT_TRUE(segment->close().ok());
}

TEST_F(MovedTest, Space23ALockWhoseTimeEndsDuringTheMoveIsNotSentOn) {
  Member next;
  Member* owner = nullptr;
  std::atomic<std::int64_t> deadline_ns = 0;
  Member server({{message_type::ACQUIRE_WRITER, [&] {
                    while (platform::now_ns() < deadline_ns) std::this_thread::yield();
                    owner->give(path, next);
                    return owner->to_next_owner(owner->number_of(path));
                  }}});
  owner = &server;
  const auto segment = opened(url(server, path));
  ASSERT_NE(segment, nullptr);
  const Wish wish = segment->wish_for(0.05);
  deadline_ns = wish.deadline_ns;
  const Result acquired = segment->acquire_writer(wish);
  EXPECT_EQ(acquired.code, error_code::TIMED_OUT) << acquired.text;
  EXPECT_TRUE(read(*segment).ok()) << "at the next server";
  EXPECT_TRUE(segment->close().ok());
}

// [SPACE-14] [LOCK-9]
TEST_F(MovedTest, Space23AReleaseThatCrossesTheMoveIsResolvedByTheNextServer) {
  for (const bool is_committed : {false, true}) {
    Member next({{message_type::RESOLVE_RELEASE, [is_committed] {
                    protocol::release_resolved body;
                    body.committed = is_committed;
                    body.version = {1, 1, 1};
                    return Answer{message_type::RELEASE_RESOLVED, session::encoded(body)};
                  }}});
    Member* owner = nullptr;
    Member server({{message_type::ACQUIRE_WRITER, granted},
                   {message_type::RELEASE_WRITER, [&owner, &next] {
                      owner->give(path, next);
                      return owner->to_next_owner(owner->number_of(path));
                    }}});
    owner = &server;
    const auto segment = opened(url(server, path));
    ASSERT_NE(segment, nullptr);
    const Result acquired = segment->acquire_writer(segment->wish_for(20));
    ASSERT_TRUE(acquired.ok()) << acquired.text;
    EXPECT_EQ(segment->release_writer().code,
              is_committed ? error_code::OK : error_code::ROLLED_BACK);
    EXPECT_EQ(next->asked(message_type::RELEASE_WRITER), 0);
    const auto asked_about = next->last<protocol::resolve_release>(message_type::RESOLVE_RELEASE);
    EXPECT_EQ(asked_about.session[0], server.session());
    EXPECT_EQ(server->asked(message_type::HELLO), 1);
    EXPECT_TRUE(segment->close().ok());
  }
}

TEST_F(MovedTest, Space23ASegmentThatMovesBackIsOpenedOnTheConnectionThatItLeft) {
  Member next;
  Member server;
  const auto segment = opened(url(server, path));
  ASSERT_NE(segment, nullptr);
  server.move(path, next);
  ASSERT_TRUE(read(*segment).ok());
  server.take_back(path);
  next.move(path, server);
  EXPECT_TRUE(read(*segment).ok());
  EXPECT_EQ(server->asked(message_type::OPEN_SEGMENT), 2);
  EXPECT_EQ(server->asked(message_type::HELLO), 1);
  EXPECT_EQ(next->asked(message_type::OPEN_SEGMENT), 1);
  EXPECT_TRUE(segment->close().ok());
}

// The server that had it has ended meanwhile, and only the client knows where it went.
TEST_F(MovedTest, Space23TheNextServerIsAskedWithoutTheServerOfTheUrl) {
  Member next;
  Member server;
  const auto segment = opened(url(server, path));
  ASSERT_NE(segment, nullptr);
  server.move(path, next);
  EXPECT_TRUE(read(*segment).ok());
  server->end();
  EXPECT_TRUE(read(*segment).ok());
  next->hang_up();
  EXPECT_TRUE(read(*segment).ok());
  EXPECT_EQ(next->asked(message_type::OPEN_SEGMENT), 2);
  EXPECT_TRUE(segment->close().ok());
}

TEST_F(MovedTest, Space12TheNextServerIsOfTheSameSpace) {
  Member stranger({}, 2);
  Member server;
  const auto segment = opened(url(server, path));
  ASSERT_NE(segment, nullptr);
  server.move(path, stranger);
  EXPECT_EQ(read(*segment).code, error_code::REDIRECTED);
  EXPECT_EQ(stranger->asked(message_type::OPEN_SEGMENT), 0);
  EXPECT_TRUE(segment->close().ok());
}

}  // namespace
}  // namespace iw::client
