// Answers that come when nobody waits for them any more, above all grants of the writer lock. The
// segments here are on a link of their own, which the library's thread does not know: what is read
// when, and by whom, is up to the test. The server is the real one; while it is stopped it answers
// nothing.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "abi/tests/server_process.h"
#include "client/runtime.h"
#include "client/segment.h"
#include "interweave.h"
#include "platform/clock.h"

namespace iw::test {
namespace {

using client::Live;
using client::Request;
using client::ServerLink;
using protocol::error_code;
using protocol::message_type;
using types::Result;

constexpr std::int64_t second_ns = 1'000'000'000;

class LateGrant : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.good());
    types::Url url;
    ASSERT_TRUE(types::parse_url(server_.url("/late"), url).ok());
    ASSERT_TRUE(platform::WakeUp::create(nobody_).ok());
    link_ = std::make_unique<ServerLink>(url, session::SessionIdentity{}, nobody_);
    client::Runtime* runtime = nullptr;
    const Result begun = client::Runtime::get(runtime);
    ASSERT_TRUE(begun.ok()) << begun.text;
    segment_ = std::make_shared<client::Segment>(*runtime, url, *link_);
    const Result opened = segment_->open({});
    ASSERT_TRUE(opened.ok()) << opened.text;
  }
  void TearDown() override {
    if (segment_ != nullptr) {
      EXPECT_TRUE(segment_->close().ok());
    }
  }

  // The server reads the request, and the word that it is given up, when it is resumed.
  void ask_in_vain() {
    server_.suspend();
    EXPECT_EQ(segment_->acquire_writer(segment_->wish_for(0.05)).code, error_code::TIMED_OUT);
  }

  // Until the segment has taken in so many messages more.
  void read(std::uint64_t messages) {
    const std::shared_ptr<Live> live = link_->current();
    ASSERT_NE(live, nullptr);
    const std::uint64_t enough = messages_received() + messages;
    while (messages_received() < enough) {
      platform::Interest interest{.fd = live->fd()};
      ASSERT_TRUE(platform::wait_for({&interest, 1}, platform::now_ns() + 20 * second_ns).ok());
      ASSERT_TRUE(interest.readable) << "the server says nothing";
      link_->read_available(live);
    }
  }

  std::uint64_t messages_received() {
    IW_stats_t stats{};
    segment_->fill_stats(stats);
    return stats.messages_received;
  }

  // Another client's; false: the server still has the lock for this one.
  bool is_lock_free() {
    Agent other;
    return other.tell("open " + server_.url("/late")) == "ok" && other.tell("wl_for 0") == "ok";
  }

  Server server_;
  platform::WakeUp nobody_;
  std::unique_ptr<ServerLink> link_;
  std::shared_ptr<client::Segment> segment_;
};

TEST_F(LateGrant, IsGivenBackBeforeTheNextRequest) {
  ask_in_vain();
  server_.resume();
  read(1);
  const Result acquired = segment_->acquire_writer(segment_->wish_for(20));
  ASSERT_TRUE(acquired.ok()) << acquired.text;
  EXPECT_TRUE(segment_->release_writer().ok());
  EXPECT_TRUE(is_lock_free());
}

TEST_F(LateGrant, ThatCrossesTheNextRequestIsGivenBackAndTheRequestRepeated) {
  ask_in_vain();
  const std::shared_ptr<Live> live = link_->current();
  ASSERT_NE(live, nullptr);
  std::thread next([this] {
    const Result acquired = segment_->acquire_writer(segment_->wish_for(20));
    ASSERT_TRUE(acquired.ok()) << acquired.text;
    EXPECT_TRUE(segment_->release_writer().ok());
  });
  while (!live->is_led()) std::this_thread::yield();  // the request is sent
  server_.resume();
  next.join();
  EXPECT_TRUE(is_lock_free());
}

TEST_F(LateGrant, IsGivenBackWhenNobodyAsksAgain) {
  ask_in_vain();
  const std::shared_ptr<Live> live = link_->current();
  ASSERT_NE(live, nullptr);
  // Two requests that are given up: the server refuses the second because of the first.
  EXPECT_EQ(segment_->acquire_writer(segment_->wish_for(0.05)).code, error_code::TIMED_OUT);
  server_.resume();
  read(2);
  EXPECT_FALSE(is_lock_free());
  segment_->run_timers(platform::now_ns());
  read(1);
  EXPECT_TRUE(is_lock_free());
}

TEST_F(LateGrant, OfALostConnectionIsNoHindrance) {
  ask_in_vain();
  server_.resume();
  read(1);
  server_.kill();
  server_.start();
  ASSERT_TRUE(server_.good());
  const Result acquired = segment_->acquire_writer(segment_->wish_for(20));
  ASSERT_TRUE(acquired.ok()) << acquired.text;
  EXPECT_TRUE(segment_->release_writer().ok());
}

// Each thread waits until its own deadline, whoever else waits longer for the same answer.
TEST_F(LateGrant, AThreadThatConnectsHoldsNoOtherUpBeyondItsDeadline) {
  EXPECT_TRUE(segment_->close().ok());
  ServerLink other(segment_->url(), {}, nobody_);
  server_.suspend();
  std::future<Result> patient = std::async(std::launch::async, [&other] {
    std::shared_ptr<Live> live;
    return other.connected(platform::now_ns() + 60 * second_ns, false, live);
  });
  // One of them finds the other at it.
  for (int i = 0; i < 20; ++i) {
    std::shared_ptr<Live> live;
    EXPECT_EQ(other.connected(platform::now_ns() + second_ns / 50, false, live).code,
              error_code::UNREACHABLE);
  }
  EXPECT_EQ(patient.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  server_.resume();
  const Result connected = patient.get();
  EXPECT_TRUE(connected.ok()) << connected.text;
  segment_ = nullptr;
}

TEST_F(LateGrant, AThreadThatOpensASegmentHoldsNoOtherUpBeyondItsDeadline) {
  EXPECT_TRUE(segment_->close().ok());
  server_.suspend();
  std::future<Result> patient =
      std::async(std::launch::async, [this] { return segment_->open({.timeout_s = 60}); });
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(segment_->open({.timeout_s = 0.02}).code, error_code::TIMED_OUT);
  }
  EXPECT_EQ(patient.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  server_.resume();
  const Result opened = patient.get();
  EXPECT_TRUE(opened.ok()) << opened.text;
}

// Takes so long over the answer that whoever asked could give up meanwhile.
class SlowListener final : public client::Listener {
 public:
  void absorb(session::Incoming&, bool is_late) override {
    was_late_ = is_late;
    has_returned_.get_future().wait_for(std::chrono::milliseconds(600));
  }
  void begins(const session::Incoming&) override {}
  void connection_lost(session::ConnectionNumber) noexcept override {}
  void call_has_returned() { has_returned_.set_value(); }
  [[nodiscard]] bool was_late() const { return was_late_; }

 private:
  std::promise<void> has_returned_;
  bool was_late_ = false;
};

// Otherwise a grant could be nobody's: the segment is told that somebody waits for it, and the one
// who asked that there is no answer.
TEST_F(LateGrant, AnAnswerThatIsBeingTakenInIsNotGivenUp) {
  Agent other;
  ASSERT_EQ(other.tell("open " + server_.url("/late")), "ok");
  ASSERT_EQ(other.tell("wl"), "ok");
  const std::shared_ptr<Live> live = link_->current();
  ASSERT_NE(live, nullptr);
  // Reads what comes for others until it is granted the lock.
  std::thread reader([this] {
    const Result acquired = segment_->acquire_writer(segment_->wish_for(20));
    ASSERT_TRUE(acquired.ok()) << acquired.text;
    EXPECT_TRUE(segment_->release_writer().ok());
  });
  while (!live->is_led()) std::this_thread::yield();
  SlowListener listener;
  Request request;
  request.segment = &listener;
  request.type = message_type::PING;
  const Result answered = link_->call(live, request, platform::now_ns() + second_ns / 5);
  listener.call_has_returned();
  EXPECT_EQ(other.tell("release"), "ok");
  reader.join();
  EXPECT_EQ(answered.ok(), !listener.was_late()) << answered.text;
}

}  // namespace
}  // namespace iw::test
