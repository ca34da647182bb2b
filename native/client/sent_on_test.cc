// A client that servers of a space send on (spec/space.md). The servers' answers are scripted.
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "client/space_fixture.h"
#include "session/fields.h"

namespace iw::client {
namespace {

using SentOnTest = SpaceTest;

TEST_F(SentOnTest, Space9TheSegmentIsOpenedWhereItsServerSendsTheClient) {
  Member owner;
  Member asked;
  asked.send_to(owner);
  IW_segment* first = nullptr;
  ASSERT_TRUE(open(url(asked), first).ok());
  const auto segment = runtime_->find_segment(url(asked));
  EXPECT_TRUE(read(*segment).ok());
  EXPECT_EQ(owner->asked(message_type::ACQUIRE_READER), 1);
  EXPECT_EQ(asked->asked(message_type::ACQUIRE_READER), 0);
  EXPECT_EQ(owner->last<protocol::open_segment>(message_type::OPEN_SEGMENT).path, "/scripted");
  EXPECT_TRUE(segment->close().ok());
  EXPECT_TRUE(owner->is_asked(message_type::CLOSE_SEGMENT));
}

TEST_F(SentOnTest, Space13TheSegmentKeepsItsName) {
  Member owner;
  Member asked;
  asked.send_to(owner);
  IW_segment* first = nullptr;
  IW_segment* second = nullptr;
  ASSERT_TRUE(open(url(asked), first).ok());
  ASSERT_TRUE(open(url(asked), second).ok());
  EXPECT_EQ(first, second);
  EXPECT_EQ(owner->asked(message_type::OPEN_SEGMENT), 1);
  EXPECT_EQ(first->name(), url(asked).text());
  const auto segment = runtime_->find_segment(url(asked));
  EXPECT_TRUE(segment->close().ok());
  EXPECT_TRUE(segment->close().ok());
}

TEST_F(SentOnTest, Space11TheTokenOfTheUrlsHostIsShown) {
  Member owner;
  Member asked;
  asked.send_to(owner);
  const auto segment = opened(url(asked));
  ASSERT_NE(segment, nullptr);
  const auto hello = owner->last<protocol::hello>(message_type::HELLO);
  EXPECT_EQ(hello.token, "the token");
  EXPECT_EQ(hello.session, protocol::session_id{}) << "a session of its own [SPACE-10]";
  EXPECT_TRUE(segment->close().ok());
}

TEST_F(SentOnTest, SegmentsOfOneServerShareTheConnectionToWhichTheyAreSent) {
  Member owner;
  Member asked;
  asked.send_to(owner);
  const auto one = opened(url(asked, "/one"));
  const auto two = opened(url(asked, "/two"));
  ASSERT_TRUE(one != nullptr && two != nullptr);
  EXPECT_EQ(owner->asked(message_type::HELLO), 1);
  EXPECT_TRUE(one->close().ok());
  EXPECT_TRUE(two->close().ok());
}

TEST_F(SentOnTest, Space10AClientIsSentOnThreeTimes) {
  Member servers[4];
  for (int i = 0; i < 3; ++i) servers[i].send_to(servers[i + 1]);
  const auto segment = opened(url(servers[0]));
  ASSERT_NE(segment, nullptr);
  EXPECT_EQ(servers[3]->asked(message_type::OPEN_SEGMENT), 1);
  EXPECT_TRUE(segment->close().ok());
}

TEST_F(SentOnTest, Space10AClientIsNotSentOnAFourthTime) {
  Member servers[5];
  for (int i = 0; i < 4; ++i) servers[i].send_to(servers[i + 1]);
  IW_segment* handle = nullptr;
  const Result result = open(url(servers[0]), handle);
  EXPECT_EQ(result.code, error_code::REDIRECTED) << result.text;
  EXPECT_NE(result.text.find(servers[4]->address()), std::string::npos) << result.text;
  EXPECT_EQ(servers[3]->asked(message_type::OPEN_SEGMENT), 1);
  EXPECT_EQ(servers[4]->asked(message_type::HELLO), 0);
}

// Nobody listens there.
constexpr const char* out_of_reach = "127.0.0.1:1";

TEST_F(SentOnTest, Space48AServerPassesOnAClientThatCannotReachTheOwner) {
  Member asked;
  asked.relay_to(out_of_reach);
  const auto segment = opened(url(asked));
  ASSERT_NE(segment, nullptr);
  EXPECT_EQ(asked->asked(message_type::HELLO), 2);
  const auto hello = asked->last<protocol::hello>(message_type::HELLO);
  protocol::redirect_field wish;
  bool is_there = false;
  EXPECT_TRUE(session::find_field(hello.fields, field_key::FIELD_REDIRECT, wish, is_there).ok());
  EXPECT_TRUE(is_there && wish.relay);
  EXPECT_EQ(wish.address, out_of_reach);
  EXPECT_EQ(hello.session, protocol::session_id{}) << "a session of its own [SPACE-52]";
  EXPECT_EQ(segment->name(), url(asked).text());
  EXPECT_TRUE(segment->close().ok());
}

TEST_F(SentOnTest, Space49AServerThatPassesNobodyOnIsNotAskedTo) {
  Member asked;
  asked.send_to_address(out_of_reach);
  IW_segment* handle = nullptr;
  EXPECT_EQ(open(url(asked), handle, brief_s).code, error_code::UNREACHABLE);
  EXPECT_EQ(asked->asked(message_type::HELLO), 1);
}

TEST_F(SentOnTest, TheErrorNamesTheWaysThatWereTried) {
  std::atomic<int> hellos{0};
  Member asked({{message_type::HELLO, [&hellos] {
                   if (++hellos == 1) return welcome(99, 1);
                   const protocol::plain_error body{error_code::UNREACHABLE, "nor from here"};
                   return Answer{message_type::ERROR, session::encoded(body)};
                 }}});
  asked.relay_to(out_of_reach, 1 << 30);
  IW_segment* handle = nullptr;
  const Result result = open(url(asked), handle, brief_s);
  EXPECT_EQ(result.code, error_code::UNREACHABLE);
  EXPECT_NE(result.text.find("nor from here"), std::string::npos) << result.text;
  EXPECT_NE(result.text.find("passed on by " + asked->url().server()), std::string::npos)
      << result.text;
}

TEST_F(SentOnTest, Space10AServerThatSendsTheClientToItselfIsLeft) {
  Member server;
  server.send_to(server);
  IW_segment* handle = nullptr;
  EXPECT_EQ(open(url(server), handle).code, error_code::REDIRECTED);
  EXPECT_EQ(server->asked(message_type::OPEN_SEGMENT), 4);
  EXPECT_EQ(server->asked(message_type::HELLO), 1);
}

TEST_F(SentOnTest, Space12AServerOfAnotherSpaceIsLeft) {
  for (const std::uint8_t space : {std::uint8_t{2}, std::uint8_t{0}}) {
    Member other({}, space);
    Member asked;
    asked.send_to(other);
    IW_segment* handle = nullptr;
    const Result result = open(url(asked), handle);
    EXPECT_EQ(result.code, error_code::REDIRECTED) << result.text;
    EXPECT_NE(result.text.find("another space"), std::string::npos) << result.text;
    EXPECT_TRUE(other->is_left());
    EXPECT_EQ(other->asked(message_type::OPEN_SEGMENT), 0);
  }
}

TEST_F(SentOnTest, Space12AServerWithoutASpaceIsNotFollowed) {
  Member other({}, 0);
  Member asked({}, 0);
  asked.send_to(other);
  IW_segment* handle = nullptr;
  EXPECT_EQ(open(url(asked), handle).code, error_code::REDIRECTED);
  EXPECT_EQ(other->asked(message_type::HELLO), 0);
}

// As long as the owner is not over, others send clients to where nobody answers.
TEST_F(SentOnTest, Space55AnOpeningAsksAgainUntilTheSegmentIsTakenOver) {
  Member asked;
  asked.send_to_address(out_of_reach, 3);
  const auto segment = opened(url(asked));
  ASSERT_NE(segment, nullptr);
  EXPECT_EQ(asked->asked(message_type::OPEN_SEGMENT), 3 + 1);
  EXPECT_EQ(asked->asked(message_type::HELLO), 1);
  EXPECT_TRUE(segment->close().ok());
}

TEST_F(SentOnTest, Space55AnOwnerThatCannotBeReachedIsNamedAtTheDeadline) {
  Member asked;
  asked.send_to_address(out_of_reach);
  IW_segment* handle = nullptr;
  const Result result = open(url(asked), handle, brief_s);
  EXPECT_EQ(result.code, error_code::UNREACHABLE) << result.text;
  EXPECT_NE(result.text.find(std::string("the server iw://") + out_of_reach +
                             ", to which this client was sent on, cannot be reached"),
            std::string::npos)
      << result.text;
  EXPECT_NE(result.text.find("`interweave status " + asked->url().server() + "` says"),
            std::string::npos)
      << result.text;
  EXPECT_GT(asked->asked(message_type::OPEN_SEGMENT), 1);
}

TEST_F(SentOnTest, Space55AnOwnerThatWasAskedIsNotCalledAway) {
  std::promise<void> end;
  Member slow({{message_type::OPEN_SEGMENT, [is_over = end.get_future().share()] {
                  is_over.wait();
                  return Answer{message_type::DONE, {}};
                }}});
  int openings = 0;
  Member asked({{message_type::OPEN_SEGMENT,
                 [&] { return redirected(++openings == 1 ? out_of_reach : slow->address()); }}});
  IW_segment* handle = nullptr;
  const Result result = open(url(asked), handle, 2 * brief_s);
  end.set_value();
  EXPECT_EQ(result.code, error_code::TIMED_OUT) << result.text;
  EXPECT_EQ(slow->asked(message_type::OPEN_SEGMENT), 1);
}

TEST_F(SentOnTest, Space55AnOwnerThatStopsIsNamedAtTheDeadline) {
  Member owner({{message_type::HELLO, [] {
                   const protocol::plain_error body{error_code::STOPPING, "it has no standing"};
                   return Answer{message_type::ERROR, session::encoded(body)};
                 }}});
  Member asked;
  asked.send_to(owner);
  IW_segment* handle = nullptr;
  const Result result = open(url(asked), handle, brief_s);
  EXPECT_EQ(result.code, error_code::STOPPING) << result.text;
  EXPECT_NE(result.text.find("the server iw://" + owner->address() +
                             ", to which this client was sent on, cannot be reached: "),
            std::string::npos)
      << result.text;
}

// As a process that was stopped: the system takes connections, and nobody reads.
class Frozen {
 public:
  Frozen() : listening_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listening_.get(), generic, size), 0);
    EXPECT_EQ(listen(listening_.get(), 8), 0);
    EXPECT_EQ(getsockname(listening_.get(), generic, &size), 0);
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  platform::FileDescriptor listening_;
  std::string address_;
};

TEST_F(SentOnTest, Space55AnOwnerThatDoesNotAnswerLeavesTimeForAnother) {
  const Frozen owner;
  Member asked;
  asked.send_to_address(owner.address(), 1);
  IW_segment* handle = nullptr;
  const Result result = open(url(asked), handle, 2 * brief_s);
  ASSERT_TRUE(result.ok()) << result.text;
  EXPECT_EQ(asked->asked(message_type::OPEN_SEGMENT), 2);
  EXPECT_TRUE(runtime_->find_segment(url(asked))->close().ok());
}

TEST_F(SentOnTest, Space55AnOwnerThatDoesNotAnswerIsNamed) {
  const Frozen owner;
  Member asked;
  asked.send_to_address(owner.address());
  IW_segment* handle = nullptr;
  const Result result = open(url(asked), handle, brief_s);
  EXPECT_EQ(result.code, error_code::UNREACHABLE) << result.text;
  EXPECT_NE(result.text.find(owner.address()), std::string::npos) << result.text;
}

TEST_F(SentOnTest, Space55AnOwnerThatIsLostBeforeItsAnswerIsNotTheLast) {
  Member* dying = nullptr;
  Member owner({{message_type::OPEN_SEGMENT, [&dying] {
                   (*dying)->end();
                   return Answer{message_type::DONE, {}};
                 }}});
  dying = &owner;
  Member asked;
  asked.send_to(owner, 2);
  const auto segment = opened(url(asked));
  ASSERT_NE(segment, nullptr);
  EXPECT_EQ(owner->asked(message_type::OPEN_SEGMENT), 1);
  EXPECT_EQ(asked->asked(message_type::OPEN_SEGMENT), 2 + 1);
  EXPECT_TRUE(segment->close().ok());
}

TEST_F(SentOnTest, Space55AnOwnerThatStopsIsNotTheLast) {
  Member owner({{message_type::HELLO, [] {
                   const protocol::plain_error body{error_code::STOPPING, "it has no standing"};
                   return Answer{message_type::ERROR, session::encoded(body)};
                 }}});
  Member asked;
  asked.send_to(owner, 2);
  const auto segment = opened(url(asked));
  ASSERT_NE(segment, nullptr);
  EXPECT_EQ(asked->asked(message_type::OPEN_SEGMENT), 2 + 1);
  EXPECT_TRUE(segment->close().ok());
}

TEST_F(SentOnTest, Space55AnOwnerThatStopsAndOpensNothingIsNotTheLast) {
  Member owner({{message_type::OPEN_SEGMENT, [] {
                   const protocol::plain_error body{error_code::STOPPING, "it stops"};
                   return Answer{message_type::ERROR, session::encoded(body)};
                 }}});
  Member asked;
  asked.send_to(owner, 2);
  const auto segment = opened(url(asked));
  ASSERT_NE(segment, nullptr);
  EXPECT_EQ(owner->asked(message_type::OPEN_SEGMENT), 2);
  EXPECT_EQ(asked->asked(message_type::OPEN_SEGMENT), 2 + 1);
  EXPECT_TRUE(segment->close().ok());
  types::Url other = url(asked);
  other.path = "/other";
  asked.send_to(owner);
  IW_segment* handle = nullptr;
  const Result result = open(other, handle, brief_s);
  EXPECT_EQ(result.code, error_code::STOPPING) << result.text;
  EXPECT_NE(result.text.find(owner->address() + ": it stops"), std::string::npos) << result.text;
}

TEST_F(SentOnTest, Space55AServerOfTheUrlThatIsGoneIsNotWaitedFor) {
  Member* dying = nullptr;
  int openings = 0;
  Member asked({{message_type::OPEN_SEGMENT, [&] {
                   if (++openings == 2) (*dying)->end();
                   return redirected(out_of_reach);
                 }}});
  dying = &asked;
  IW_segment* handle = nullptr;
  const Result result = open(url(asked), handle);
  EXPECT_EQ(result.code, error_code::UNREACHABLE) << result.text;
  EXPECT_EQ(result.text.find(out_of_reach), std::string::npos) << result.text;
  EXPECT_NE(result.text.find(asked->address()), std::string::npos) << result.text;
}

TEST_F(SentOnTest, Space55WhatAPointerLeadsToIsAskedForOnce) {
  Member asked;
  asked.send_to_address(out_of_reach);
  types::Mip mip;
  mip.url = url(asked);
  mip.serial = 1;
  void* place = nullptr;
  EXPECT_EQ(runtime_->place_of(mip, place).code, error_code::UNREACHABLE);
  EXPECT_EQ(asked->asked(message_type::OPEN_SEGMENT), 1);
}

// [CONN-4] Until the lease of its earlier start is over, the server refuses the segment.
TEST_F(SentOnTest, Space17AReleaseThatTheRestartedServerWasNotSentIsRolledBack) {
  std::promise<void> is_asked_again;
  int openings = 0;
  Member server({{message_type::ACQUIRE_WRITER, granted},
                 {message_type::OPEN_SEGMENT, [&] {
                    ++openings;
                    if (openings == 1) {
                      const protocol::segment_opened body{};
                      return Answer{message_type::SEGMENT_OPENED, session::encoded(body)};
                    }
                    if (openings == 2) is_asked_again.set_value();
                    const protocol::plain_error body{error_code::STOPPING, "a moment"};
                    return Answer{message_type::ERROR, session::encoded(body)};
                  }}});
  const auto segment = opened(url(server));
  ASSERT_NE(segment, nullptr);
  ASSERT_TRUE(runtime_->prepare_callbacks().ok());
  segment->set_change_fn([](IW_segment*, std::uint64_t, void*) {}, nullptr);
  ASSERT_TRUE(segment->acquire_writer(segment->wish_for(20)).ok());
  server->hang_up();
  const auto asked = is_asked_again.get_future().wait_for(std::chrono::minutes(1));
  ASSERT_EQ(asked, std::future_status::ready) << "the client has lost the connection";
  const Result released = segment->release_writer();
  EXPECT_EQ(released.code, error_code::ROLLED_BACK) << released.text;
  EXPECT_TRUE(segment->close().ok());
}

TEST_F(SentOnTest, AnAddressThatCannotBeReadIsNotFollowed) {
  for (const char* const bad : {"", "nowhere:", "a:1/b", "unix:/tmp/a", "a:0", "a b:1", "::1:7"}) {
    Member asked;
    asked.send_to_address(bad);
    IW_segment* handle = nullptr;
    EXPECT_EQ(open(url(asked), handle).code, error_code::REDIRECTED) << bad;
    EXPECT_EQ(asked->asked(message_type::OPEN_SEGMENT), 1) << bad;
  }
}

TEST_F(SentOnTest, Space14TheOwnerIsAskedFirstAfterALostConnection) {
  Member owner;
  Member asked;
  asked.send_to(owner);
  const auto segment = opened(url(asked));
  ASSERT_NE(segment, nullptr);
  owner->hang_up();
  EXPECT_TRUE(read(*segment).ok());
  EXPECT_EQ(owner->asked(message_type::OPEN_SEGMENT), 2);
  EXPECT_EQ(asked->asked(message_type::OPEN_SEGMENT), 1);
  EXPECT_TRUE(segment->close().ok());
}

TEST_F(SentOnTest, Space14TheUrlsServerIsAskedIfTheOwnerCannotBeReached) {
  Member first;
  Member second;
  Member asked;
  asked.send_to(first);
  const auto segment = opened(url(asked));
  ASSERT_NE(segment, nullptr);
  asked.send_to(second);
  first->end();
  EXPECT_TRUE(read(*segment).ok());
  EXPECT_EQ(second->asked(message_type::OPEN_SEGMENT), 1);
  EXPECT_EQ(segment->name(), url(asked).text());
  EXPECT_TRUE(segment->close().ok());
  EXPECT_TRUE(second->is_asked(message_type::CLOSE_SEGMENT));
}

TEST_F(SentOnTest, Space14AnOwnerThatIsOfAnotherSpaceByNowIsLeft) {
  std::atomic<std::uint8_t> space{1};
  Member owner({{message_type::HELLO, [&space] { return welcome(77, space); }}});
  Member asked;
  asked.send_to(owner);
  const auto segment = opened(url(asked));
  ASSERT_NE(segment, nullptr);
  asked.send_to(owner, 0);  // it takes the segment over
  space = 2;
  owner->hang_up();
  EXPECT_TRUE(read(*segment).ok());
  EXPECT_EQ(owner->asked(message_type::OPEN_SEGMENT), 1);
  EXPECT_EQ(asked->asked(message_type::OPEN_SEGMENT), 2);
  EXPECT_TRUE(segment->close().ok());
}

// As long as the owner is not over, others send clients to where nobody answers.
TEST_F(SentOnTest, Space14ACallerThatWaitsAsksUntilTheSegmentIsTakenOver) {
  Member owner;
  Member asked;
  asked.send_to(owner);
  const auto segment = opened(url(asked));
  ASSERT_NE(segment, nullptr);
  asked.send_to(owner, 3);
  owner->end();
  EXPECT_TRUE(read(*segment).ok());
  EXPECT_EQ(asked->asked(message_type::OPEN_SEGMENT), 1 + 3 + 1);
  EXPECT_TRUE(segment->close().ok());
  EXPECT_TRUE(asked->is_asked(message_type::CLOSE_SEGMENT));
}

TEST_F(SentOnTest, Space14ThreadsThatFindTheOwnerAwayTogetherOpenTheSegmentOnce) {
  Member first;
  Member second({{message_type::ACQUIRE_WRITER, granted}});
  Member asked;
  asked.send_to(first);
  const auto segment = opened(url(asked));
  ASSERT_NE(segment, nullptr);
  asked.send_to(second);
  first->end();
  std::vector<std::thread> threads;
  threads.emplace_back([&] { EXPECT_TRUE(read(*segment).ok()); });
  threads.emplace_back([&] {
    EXPECT_TRUE(segment->acquire_writer(segment->wish_for(20)).ok());
    EXPECT_TRUE(segment->abort_writer().ok());
  });
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      void* place = nullptr;
      types::Mip mip;
      mip.serial = 1;
      EXPECT_FALSE(segment->place_of(mip, place).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(second->asked(message_type::OPEN_SEGMENT), 1);
  EXPECT_TRUE(segment->close().ok());
}

// [SPACE-14] [LOCK-9] The new owner is asked about the session in which the release was sent.
TEST_F(SentOnTest, Space14AReleaseWithoutAnswerIsResolvedByTheNewOwner) {
  Member second({{message_type::RESOLVE_RELEASE, [] {
                    protocol::release_resolved body;
                    body.committed = true;
                    body.version = {1, 1, 1};
                    return Answer{message_type::RELEASE_RESOLVED, session::encoded(body)};
                  }}});
  Member* lost = nullptr;
  Member first({{message_type::ACQUIRE_WRITER, granted}, {message_type::RELEASE_WRITER, [&lost] {
                                                            (*lost)->end();
                                                            return Answer{message_type::DONE, {}};
                                                          }}});
  lost = &first;
  Member asked;
  asked.send_to(first);
  const auto segment = opened(url(asked));
  ASSERT_NE(segment, nullptr);
  asked.send_to(second);
  const Result acquired = segment->acquire_writer(segment->wish_for(20));
  ASSERT_TRUE(acquired.ok()) << acquired.text;
  const Result released = segment->release_writer();
  EXPECT_TRUE(released.ok()) << released.text;
  EXPECT_EQ(first->asked(message_type::RELEASE_WRITER), 1);
  EXPECT_EQ(second->asked(message_type::RELEASE_WRITER), 0);
  const auto asked_about = second->last<protocol::resolve_release>(message_type::RESOLVE_RELEASE);
  const auto sent = first->last<protocol::release_writer>(message_type::RELEASE_WRITER);
  EXPECT_EQ(asked_about.session[0], first.session());
  EXPECT_EQ(asked_about.sequence, sent.sequence);
  EXPECT_TRUE(segment->close().ok());
}

}  // namespace
}  // namespace iw::client
