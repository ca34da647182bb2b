#include "platform/socket.h"

#include <gtest/gtest.h>
#if defined(_WIN32)
#include <winsock2.h>
#include <ws2tcpip.h>
#else
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#endif

#include <cerrno>
#include <numeric>
#include <thread>
#include <vector>

#include "platform/socket_fixture.h"

namespace iw::platform {
namespace {

// A plain blocking server socket on a loopback address.
struct Listener {
  FileDescriptor fd;
  std::uint16_t port = 0;
  bool is_bound = false;

  explicit Listener(int family) {
    WakeUp any;  // some systems must be asked for sockets first
    EXPECT_TRUE(WakeUp::create(any).ok());
    fd = FileDescriptor(static_cast<int>(socket(family, SOCK_STREAM, 0)));
    sockaddr_storage address{};
    socklen_t size = 0;
    address.ss_family = static_cast<decltype(address.ss_family)>(family);
    if (family == AF_INET) {
      reinterpret_cast<sockaddr_in&>(address).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      size = sizeof(sockaddr_in);
    } else {
      reinterpret_cast<sockaddr_in6&>(address).sin6_addr = in6addr_loopback;
      size = sizeof(sockaddr_in6);
    }
    is_bound = bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) == 0 &&
               listen(fd.get(), 5) == 0;
    getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(family == AF_INET ? reinterpret_cast<sockaddr_in&>(address).sin_port
                                   : reinterpret_cast<sockaddr_in6&>(address).sin6_port);
  }
  Socket accepted() {
    return Socket(FileDescriptor(static_cast<int>(accept(fd.get(), nullptr, nullptr))));
  }
};

TEST(Socket, ConnectsOverTcpByAddressAndByName) {
  Listener listener(AF_INET);
  ASSERT_TRUE(listener.is_bound);
  for (const char* host : {"127.0.0.1", "localhost"}) {
    Socket client;
    const Status status = connect_tcp(host, listener.port, now_ns() + 10 * second_ns, client);
    ASSERT_TRUE(status.ok()) << status.what;
    EXPECT_TRUE(client.is_to_loopback_v4());
    Socket server = listener.accepted();
    expect_exchange(client, server);
  }
}

TEST(Socket, ConnectsOverIpv6WithBracketsOrWithout) {
  Listener listener(AF_INET6);
  if (!listener.is_bound) GTEST_SKIP() << "no IPv6 loopback here";
  for (const char* host : {"::1", "[::1]"}) {
    Socket client;
    ASSERT_TRUE(connect_tcp(host, listener.port, now_ns() + 10 * second_ns, client).ok());
    EXPECT_FALSE(client.is_to_loopback_v4());
    Socket server = listener.accepted();
    expect_exchange(client, server);
  }
}

TEST(Socket, FailuresSayWhy) {
  Socket client;
  std::uint16_t free_port = 0;
  {
    Listener listener(AF_INET);
    free_port = listener.port;
  }
  const int code = connect_tcp("127.0.0.1", free_port, now_ns() + second_ns, client).code;
  // An emulator may hand the number of the machine that it runs on through.
  const int refused_on_x86 = 111;
  EXPECT_TRUE(code == ECONNREFUSED || code == refused_on_x86) << code;
  EXPECT_EQ(connect_tcp("no.such.host.invalid", 1, now_ns() + second_ns, client).ok(), false);
  EXPECT_FALSE(client);
}

TEST(Socket, SendsMoreThanTheConnectionHoldsInManySlices) {
  Listener listener(AF_INET);
  Socket client;
  ASSERT_TRUE(connect_tcp("127.0.0.1", listener.port, now_ns() + 10 * second_ns, client).ok());
  Socket server = listener.accepted();
  std::vector<unsigned char> data(9'000'001);
  std::iota(data.begin(), data.end(), static_cast<unsigned char>(0));
  std::vector<Slice> slices;
  for (std::size_t at = 0; at < data.size(); at += 30'011) {
    slices.push_back({data.data() + at, std::min<std::size_t>(30'011, data.size() - at)});
  }
  std::thread sender([&] { EXPECT_TRUE(client.send(slices, never_ns).ok()); });
  std::vector<unsigned char> received;
  std::vector<std::byte> buffer(100'000);
  while (received.size() < data.size()) {
    std::size_t got = 0;
    ASSERT_TRUE(receive_soon(server, buffer, got).ok());
    ASSERT_GT(got, 0u);
    const auto* bytes = reinterpret_cast<const unsigned char*>(buffer.data());
    received.insert(received.end(), bytes, bytes + got);
  }
  sender.join();
  EXPECT_EQ(received, data);
}

TEST(Socket, SendingToAPeerThatDoesNotReadTimesOut) {
  Listener listener(AF_INET);
  Socket client;
  ASSERT_TRUE(connect_tcp("127.0.0.1", listener.port, now_ns() + 10 * second_ns, client).ok());
  Socket server = listener.accepted();
  const std::vector<char> data(64 << 20);
  const Slice slice{data.data(), data.size()};
  EXPECT_EQ(client.send({&slice, 1}, now_ns() + second_ns / 50).code, ETIMEDOUT);
}

TEST(Socket, AClosedPeerIsAStatusAndNotASignal) {
  Listener listener(AF_INET);
  Socket client;
  ASSERT_TRUE(connect_tcp("127.0.0.1", listener.port, now_ns() + 10 * second_ns, client).ok());
  std::byte byte;
  std::size_t got = 1;
  EXPECT_EQ(client.receive({{&byte, 1}, {}}, got).code, EAGAIN);
  listener.accepted().close();
  ASSERT_TRUE(receive_soon(client, {&byte, 1}, got).ok());
  EXPECT_EQ(got, 0u);
  const std::vector<char> data(64 << 20);
  const Slice slice{data.data(), data.size()};
  const Status status = client.send({&slice, 1}, now_ns() + 10 * second_ns);
  EXPECT_TRUE(status.code == EPIPE || status.code == ECONNRESET) << status.code;
}

TEST(WakeUp, EndsAWaitAndCanBeUsedAgain) {
  WakeUp wake_up;
  ASSERT_TRUE(WakeUp::create(wake_up).ok());
  for (int i = 0; i < 3; ++i) {
    std::thread other([&] {
      wake_up.signal();
      wake_up.signal();
    });
    Interest interest{.fd = wake_up.fd()};
    ASSERT_TRUE(wait_for({&interest, 1}, never_ns).ok());
    EXPECT_TRUE(interest.readable);
    other.join();
    wake_up.drain();
    ASSERT_TRUE(wait_for({&interest, 1}, 0).ok());
    EXPECT_FALSE(interest.readable);
  }
}

TEST(WaitFor, EndsAtTheDeadlineAndNotBefore) {
  WakeUp wake_up;
  ASSERT_TRUE(WakeUp::create(wake_up).ok());
  Interest interest{.fd = wake_up.fd()};
  const std::int64_t deadline_ns = now_ns() + 3'500'000;
  ASSERT_TRUE(wait_for({&interest, 1}, deadline_ns).ok());
  EXPECT_GE(now_ns(), deadline_ns);
  EXPECT_FALSE(interest.readable);
}

}  // namespace
}  // namespace iw::platform
