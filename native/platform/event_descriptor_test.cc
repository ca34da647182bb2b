#include "platform/event_descriptor.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "platform/socket_fixture.h"

namespace iw::platform {
namespace {

bool is_readable(int fd) {
  Interest interest{.fd = fd};
  return wait_for({&interest, 1}, 0).ok() && interest.readable;
}

struct EventDescriptorTest : ::testing::Test {
  void SetUp() override {
    ASSERT_TRUE(EventDescriptor::create(events).ok());
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    near = Socket(FileDescriptor(ends[0]));
    far = Socket(FileDescriptor(ends[1]));
    is_watching = events.watch(near.fd());
  }
  void send_a_byte() {
    const Slice byte{"x", 1};
    ASSERT_TRUE(far.send({&byte, 1}, now_ns() + second_ns).ok());
  }
  void receive_all() {
    std::array<std::byte, 16> bytes;
    std::size_t got = 0;
    while (near.receive({bytes, {}}, got).ok()) {
    }
  }

  EventDescriptor events;
  Socket near;
  Socket far;
  bool is_watching = false;
};

TEST_F(EventDescriptorTest, IsReadableOncePerSignal) {
  EXPECT_FALSE(is_readable(events.fd()));
  for (int i = 0; i < 3; ++i) {
    events.signal();
    events.signal();
    EXPECT_TRUE(is_readable(events.fd()));
    events.take();
    EXPECT_FALSE(is_readable(events.fd()));
  }
}

TEST_F(EventDescriptorTest, IsReadableForBytesOfAWatchedSocketUntilNoteIsTaken) {
  if (!is_watching) GTEST_SKIP() << "this system cannot watch sockets for another descriptor";
  for (int i = 0; i < 3; ++i) {
    send_a_byte();
    EXPECT_TRUE(is_readable(events.fd()));
    events.take();
    EXPECT_FALSE(is_readable(events.fd())) << "although the byte is still there";
    send_a_byte();
    EXPECT_TRUE(is_readable(events.fd())) << "for the newer byte";
    events.take();
    receive_all();
  }
}

TEST_F(EventDescriptorTest, IsNotReadableForBytesThatSomebodyElseHasRead) {
  if (!is_watching) GTEST_SKIP() << "this system cannot watch sockets for another descriptor";
  send_a_byte();
  receive_all();
  EXPECT_FALSE(is_readable(events.fd()));
}

TEST_F(EventDescriptorTest, IsReadableWhenTheWatchedSocketsPeerHasGone) {
  if (!is_watching) GTEST_SKIP() << "this system cannot watch sockets for another descriptor";
  far.close();
  EXPECT_TRUE(is_readable(events.fd()));
}

TEST_F(EventDescriptorTest, ForgetsASocketThatIsClosed) {
  send_a_byte();
  near.close();
  EXPECT_FALSE(is_readable(events.fd()));
}

}  // namespace
}  // namespace iw::platform
