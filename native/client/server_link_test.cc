// How much of a connection a dispatching thread reads.
#include "client/server_link.h"

#include <memory>
#include <thread>
#include <vector>

#include "client/scripted_server_fixture.h"
#include "protocol/notify.gen.h"

namespace iw::client {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

class Counted final : public Listener {
 public:
  void absorb(session::Incoming& incoming, bool) override {
    bytes_.push_back(incoming.message.bulk.size_bytes());
  }
  void begins(const session::Incoming&) override { begun_behind_.push_back(bytes_.size()); }
  void connection_lost(session::ConnectionNumber) noexcept override {}
  [[nodiscard]] const std::vector<std::size_t>& bytes() const { return bytes_; }

  // How many messages had come when another began.
  [[nodiscard]] const std::vector<std::size_t>& begun_behind() const { return begun_behind_; }

 private:
  std::vector<std::size_t> bytes_;
  std::vector<std::size_t> begun_behind_;
};

class ReadingForDispatch : public ::testing::Test {
 protected:
  using Left = ServerLink::Left;
  // More than one receive takes, and less than the system keeps for a socket.
  static constexpr std::size_t push_bytes = 40'000;
  static constexpr std::size_t pushes = 3;

  void SetUp() override {
    ASSERT_TRUE(platform::WakeUp::create(nobody_).ok());
    link_ = std::make_unique<ServerLink>(server_.url(), session::SessionIdentity{}, nobody_);
    ASSERT_TRUE(link_->connected(platform::now_ns() + 20 * second_ns, false, live_).ok());
    link_->listen(live_, ScriptedServer::segment, listener_);
    push();
  }
  void push() {
    const std::vector<std::byte> bytes(push_bytes);
    const platform::Slice bulk{bytes.data(), bytes.size()};
    protocol::push body;
    body.segment = ScriptedServer::segment;
    for (std::size_t i = 0; i < pushes; ++i) {
      server_.say({message_type::PUSH, session::encoded(body)}, 1u << 31 | next_stream_++,
                  {&bulk, 1});
    }
  }

  ScriptedServer server_;
  platform::WakeUp nobody_;
  Counted listener_;
  std::unique_ptr<ServerLink> link_;
  std::shared_ptr<Live> live_;
  std::uint32_t next_stream_ = 1;
};

TEST_F(ReadingForDispatch, EndsAtItsBoundAndGoesOnThereNextTime) {
  EXPECT_EQ(link_->read_all(live_, 1), Left::more);
  EXPECT_EQ(listener_.bytes().size(), pushes - 1) << "one receive";
  while (link_->read_all(live_, 1) == Left::more) {
  }
  EXPECT_EQ(listener_.bytes(), std::vector<std::size_t>(pushes, push_bytes));
}

TEST_F(ReadingForDispatch, TakesAllThatIsThereBelowItsBound) {
  EXPECT_EQ(link_->read_all(live_, pushes * push_bytes * 2), Left::nothing);
  EXPECT_EQ(listener_.bytes(), std::vector<std::size_t>(pushes, push_bytes));
  push();
  EXPECT_EQ(link_->read_all(live_, pushes * push_bytes * 2), Left::nothing);
  EXPECT_EQ(listener_.bytes().size(), 2 * pushes);
}

TEST_F(ReadingForDispatch, Not6TheSegmentHearsOfALargeMessageWhenItBegins) {
  const std::vector<std::byte> bytes(protocol::MAX_CHUNK_BYTES + 1);
  const platform::Slice bulk{bytes.data(), bytes.size()};
  protocol::push body;
  body.segment = ScriptedServer::segment;
  std::thread server([&] {
    server_.say({message_type::PUSH, session::encoded(body)}, 1u << 31 | next_stream_, {&bulk, 1});
  });
  while (listener_.bytes().size() <= pushes && !live_->is_lost()) (void)link_->read_all(live_, 1);
  server.join();
  EXPECT_EQ(listener_.begun_behind(), std::vector<std::size_t>{pushes});
  EXPECT_EQ(listener_.bytes().size(), pushes + 1);
}

TEST_F(ReadingForDispatch, OfALostConnectionLeavesNothing) {
  while (link_->read_all(live_, 1) == Left::more) {
  }
  server_.end();
  platform::Interest end{.fd = live_->fd()};
  ASSERT_TRUE(platform::wait_for({&end, 1}, platform::now_ns() + 20 * second_ns).ok());
  EXPECT_EQ(link_->read_all(live_, 1), Left::nothing);
  EXPECT_TRUE(live_->is_lost());
  EXPECT_EQ(link_->read_all(live_, 1), Left::nothing);
}

}  // namespace
}  // namespace iw::client
