// Winsock. See socket.h; what all systems share is in socket.cc. Descriptors are sockets. There are
// no signals to be spared, and no Unix sockets: clients of Windows reach servers over TCP.
#include <winsock2.h>
#include <ws2tcpip.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "platform/clock.h"
#include "platform/socket.h"
#include "platform/socket_waits.h"
#include "platform/windows_error.h"

namespace iw::platform {

namespace {

// Windows accepts any amount in one send. Larger sends would take memory of the system, and their
// deadline would not count.
constexpr std::size_t largest_send_bytes = std::size_t{256} << 10;

SOCKET socket_of(int fd) { return static_cast<SOCKET>(fd); }
SOCKET socket_of(const FileDescriptor& fd) { return socket_of(fd.get()); }

Status start_winsock() {
  static const int failure = [] {
    WSADATA data{};
    return WSAStartup(MAKEWORD(2, 2), &data);
  }();
  return failure == 0 ? Status{} : Status{errno_of(static_cast<DWORD>(failure)), "WSAStartup"};
}

Status open_socket(int family, int type, int protocol, FileDescriptor& out) {
  if (Status bad = start_winsock(); !bad) return bad;
  const SOCKET made = WSASocketW(family, type, protocol, nullptr, 0,
                                 WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
  if (made == INVALID_SOCKET) return last_failure("socket");
  FileDescriptor fd(static_cast<int>(made));
  u_long is_non_blocking = 1;
  if (ioctlsocket(made, static_cast<long>(FIONBIO), &is_non_blocking) != 0) {
    return last_failure("ioctlsocket");
  }
  out = std::move(fd);
  return {};
}

void set_option(SOCKET socket, int level, int name, int value) {
  // A refused option costs speed or an early notice of a dead peer, not correctness.
  (void)setsockopt(socket, level, name, reinterpret_cast<const char*>(&value), sizeof value);
}

// With select: older WSAPoll do not tell of connections that were refused.
Status wait_connected(SOCKET socket, std::int64_t deadline_ns) {
  fd_set writable;
  fd_set failed;
  int ready = 0;
  do {
    FD_ZERO(&writable);
    FD_ZERO(&failed);
    FD_SET(socket, &writable);
    FD_SET(socket, &failed);
    const int left_ms = milliseconds_until(deadline_ns);
    timeval timeout{left_ms / 1000, left_ms % 1000 * 1000};
    ready = select(0, nullptr, &writable, &failed, left_ms < 0 ? nullptr : &timeout);
  } while (ready == 0 && now_ns() < deadline_ns);
  if (ready < 0) return last_failure("select");
  if (ready == 0) return {ETIMEDOUT, "connect"};
  int result = 0;
  int size = sizeof result;
  if (getsockopt(socket, SOL_SOCKET, SO_ERROR, reinterpret_cast<char*>(&result), &size) != 0) {
    return last_failure("getsockopt");
  }
  if (result != 0) return {errno_of(static_cast<DWORD>(result)), "connect"};
  return {};
}

Status failed_look_up(int result) {
  switch (result) {
    case EAI_MEMORY:
      return {ENOMEM, "looking up the host name"};
    case EAI_AGAIN:
      return {EAGAIN, "the name service does not answer now"};
    default:
      return {ENOENT, "no such host"};
  }
}

}  // namespace

Status look_up_without_deadline(const std::string& host, std::uint16_t port, bool may_ask,
                                std::vector<SocketAddress>& out) {
  if (Status bad = start_winsock(); !bad) return bad;
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_protocol = IPPROTO_TCP;
  wanted.ai_flags = may_ask ? 0 : AI_NUMERICHOST;
  addrinfo* found = nullptr;
  const int result = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (result != 0) return failed_look_up(result);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(one->ai_addr);
    out.push_back({one->ai_family, {bytes, bytes + one->ai_addrlen}});
  }
  return out.empty() ? Status{ENOENT, "no such host"} : Status{};
}

Status connect_to(const SocketAddress& address, std::int64_t deadline_ns, Socket& out) {
  FileDescriptor fd;
  if (Status bad = open_socket(address.family, SOCK_STREAM, IPPROTO_TCP, fd); !bad) return bad;
  set_option(socket_of(fd), IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket_of(fd), SOL_SOCKET, SO_KEEPALIVE, 1);
  const auto* const bytes = reinterpret_cast<const sockaddr*>(address.bytes.data());
  if (connect(socket_of(fd), bytes, static_cast<int>(address.bytes.size())) != 0) {
    if (WSAGetLastError() != WSAEWOULDBLOCK) return last_failure("connect");
    if (Status bad = wait_connected(socket_of(fd), deadline_ns); !bad) return bad;
  }
  out = Socket(std::move(fd));
  return {};
}

Status connect_unix(const std::string&, std::int64_t, Socket&) {
  return {EAFNOSUPPORT, "Unix sockets are not supported on Windows: give the server's TCP address"};
}

bool Socket::is_to_loopback_v4() const {
  sockaddr_in peer{};
  int size = sizeof peer;
  const bool is_known =
      getpeername(socket_of(fd()), reinterpret_cast<sockaddr*>(&peer), &size) == 0;
  return is_known && peer.sin_family == AF_INET && peer.sin_addr.s_addr == htonl(INADDR_LOOPBACK);
}

Status send_plain(int fd, std::span<const Slice> slices, std::size_t& sent_bytes) {
  sent_bytes = 0;
  std::array<WSABUF, 64> vector;
  DWORD count = 0;
  std::size_t total = 0;
  for (const Slice& slice : slices) {
    if (slice.size_bytes == 0) continue;
    if (count == vector.size() || total == largest_send_bytes) break;
    const std::size_t part = std::min(slice.size_bytes, largest_send_bytes - total);
    vector[count++] = {static_cast<u_long>(part),
                       const_cast<char*>(static_cast<const char*>(slice.data))};
    total += part;
  }
  if (count == 0) return {};
  DWORD sent = 0;
  if (WSASend(static_cast<SOCKET>(fd), vector.data(), count, &sent, 0, nullptr, nullptr) != 0) {
    return WSAGetLastError() == WSAEWOULDBLOCK ? Status{} : last_failure("send");
  }
  sent_bytes = sent;
  return {};
}

Status receive_plain(int fd, const Space& into, std::size_t& got_bytes) {
  got_bytes = 0;
  const auto buffer = [](std::span<std::byte> bytes) {
    constexpr std::size_t most = std::size_t{1} << 30;
    return WSABUF{static_cast<u_long>(std::min(bytes.size(), most)),
                  reinterpret_cast<char*>(bytes.data())};
  };
  std::array<WSABUF, 2> vector{buffer(into.first), buffer(into.rest)};
  DWORD got = 0;
  DWORD flags = 0;
  const DWORD count = into.rest.empty() ? 1 : 2;
  if (WSARecv(static_cast<SOCKET>(fd), vector.data(), count, &got, &flags, nullptr, nullptr) != 0) {
    return WSAGetLastError() == WSAEWOULDBLOCK ? Status{EAGAIN, "nothing to receive now"}
                                               : last_failure("receive");
  }
  got_bytes = got;
  return {};
}

// One datagram socket of the loopback, connected to itself: only what it sends is received by it.
Status WakeUp::create(WakeUp& out) {
  FileDescriptor both;
  if (Status bad = open_socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP, both); !bad) return bad;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  int size = sizeof address;
  if (bind(socket_of(both), any, size) != 0 || getsockname(socket_of(both), any, &size) != 0 ||
      connect(socket_of(both), any, size) != 0) {
    return last_failure("a socket to wake up by");
  }
  out.read_end_ = std::move(both);
  out.write_end_ = FileDescriptor();
  return {};
}

void WakeUp::signal() const noexcept {
  const DWORD saved_error = GetLastError();
  const char one = 1;
  (void)::send(socket_of(read_end_), &one, 1, 0);  // full: already signalled
  SetLastError(saved_error);
}

void WakeUp::drain() const noexcept {
  std::array<char, 64> bytes;
  while (recv(socket_of(read_end_), bytes.data(), bytes.size(), 0) > 0) {
  }
}

Status wait_for(std::span<Interest> interests, std::int64_t deadline_ns) {
  std::vector<WSAPOLLFD> polled(interests.size());
  for (std::size_t i = 0; i < interests.size(); ++i) {
    const Interest& interest = interests[i];
    polled[i].fd = socket_of(interest.fd);
    polled[i].events = static_cast<short>((interest.want_read ? POLLRDNORM : 0) |
                                          (interest.want_write ? POLLWRNORM : 0));
  }
  int ready = 0;
  do {
    ready =
        WSAPoll(polled.data(), static_cast<ULONG>(polled.size()), milliseconds_until(deadline_ns));
  } while (ready == 0 && now_ns() < deadline_ns);
  if (ready < 0) return last_failure("WSAPoll");
  constexpr short broken = POLLERR | POLLHUP | POLLNVAL;
  for (std::size_t i = 0; i < interests.size(); ++i) {
    Interest& interest = interests[i];
    interest.readable = interest.want_read && (polled[i].revents & (POLLRDNORM | broken)) != 0;
    interest.writable = interest.want_write && (polled[i].revents & (POLLWRNORM | broken)) != 0;
  }
  return {};
}

}  // namespace iw::platform
