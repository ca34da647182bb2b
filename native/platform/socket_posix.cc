// POSIX sockets. See socket.h; what all systems share is in socket.cc.
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "platform/socket.h"
#if defined(__linux__)
#include <sys/eventfd.h>
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "platform/socket_waits.h"

namespace iw::platform {

namespace {

bool would_block(int code) { return code == EAGAIN || code == EWOULDBLOCK; }

void set_option(int fd, int level, int name, int value) {
  // A refused option costs speed or an early notice of a dead peer, not correctness.
  (void)setsockopt(fd, level, name, &value, sizeof value);
}

void set_stream_options(int fd, int family) {
#if defined(SO_NOSIGPIPE)
  set_option(fd, SOL_SOCKET, SO_NOSIGPIPE, 1);
#endif
  if (family == AF_UNIX) return;
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

Status connect_to(int family, const sockaddr* address, socklen_t size, std::int64_t deadline_ns,
                  Socket& out) {
  FileDescriptor fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return last_failure("socket");
  set_stream_options(fd.get(), family);
  while (connect(fd.get(), address, size) != 0) {
    if (errno == EINTR) continue;
    if (family == AF_UNIX && would_block(errno)) {
      return {EAGAIN, "connect: the server's queue of new connections is full"};
    }
    if (errno == EISCONN) break;
    if (errno != EINPROGRESS && errno != EALREADY) return last_failure("connect");
    if (Status bad = wait_writable(fd.get(), deadline_ns); !bad) return {bad.code, "connect"};
    int result = 0;
    socklen_t result_size = sizeof result;
    if (getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &result, &result_size) != 0) {
      return last_failure("getsockopt");
    }
    if (result != 0) return {result, "connect"};
    break;
  }
  out = Socket(std::move(fd));
  return {};
}

// Resolvers take a descriptor that they cannot have for a host that they do not know.
Status descriptors_for_looking_up() {
  std::array<FileDescriptor, 3> some;
  for (FileDescriptor& one : some) {
    one = FileDescriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!one) return last_failure("looking up the host name");
  }
  return {};
}

Status failed_look_up(int result) {
  const Status said = last_failure("looking up the host name");
  if (Status none = descriptors_for_looking_up(); !none && is_shortage(none.code)) return none;
  switch (result) {
    case EAI_SYSTEM:
      return said;
    case EAI_MEMORY:
      return {ENOMEM, "looking up the host name"};
    case EAI_AGAIN:
      return {EAGAIN, "the name service does not answer now"};
    default:
      return {ENOENT, "no such host"};
  }
}

#if defined(MSG_NOSIGNAL)
constexpr int send_flags = MSG_NOSIGNAL;
#else
constexpr int send_flags = 0;  // SO_NOSIGPIPE is set
#endif

}  // namespace

Status look_up_without_deadline(const std::string& host, std::uint16_t port, bool may_ask,
                                std::vector<SocketAddress>& out) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV | (may_ask ? 0 : AI_NUMERICHOST);
  addrinfo* found = nullptr;
  const int result = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (result != 0) return may_ask ? failed_look_up(result) : Status{ENOENT, "no such host"};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(one->ai_addr);
    out.push_back({one->ai_family, {bytes, bytes + one->ai_addrlen}});
  }
  return out.empty() ? Status{ENOENT, "no such host"} : Status{};
}

Status connect_to(const SocketAddress& address, std::int64_t deadline_ns, Socket& out) {
  const auto size = static_cast<socklen_t>(address.bytes.size());
  return connect_to(address.family, reinterpret_cast<const sockaddr*>(address.bytes.data()), size,
                    deadline_ns, out);
}

Status connect_unix(const std::string& path, std::int64_t deadline_ns, Socket& out) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return {ENAMETOOLONG, "the path of a Unix socket is empty or too long"};
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  socklen_t size = sizeof address;
  if (path.front() == '@') {
    // An abstract name: a NUL stands for the '@', and the length says where the name ends.
    address.sun_path[0] = '\0';
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  }
  return connect_to(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), size, deadline_ns, out);
}

bool Socket::is_to_loopback_v4() const {
  sockaddr_in peer{};
  socklen_t size = sizeof peer;
  const bool is_known = getpeername(fd(), reinterpret_cast<sockaddr*>(&peer), &size) == 0;
  return is_known && peer.sin_family == AF_INET && peer.sin_addr.s_addr == htonl(INADDR_LOOPBACK);
}

Status send_plain(int fd, std::span<const Slice> slices, std::size_t& sent_bytes) {
  sent_bytes = 0;
  std::array<iovec, 64> vector;
  std::size_t count = 0;
  for (const Slice& slice : slices) {
    if (slice.size_bytes == 0) continue;
    if (count == vector.size()) break;
    vector[count++] = {const_cast<void*>(slice.data), slice.size_bytes};
  }
  if (count == 0) return {};
  msghdr message{};
  message.msg_iov = vector.data();
  message.msg_iovlen = count;
  ssize_t sent;
  do {
    sent = sendmsg(fd, &message, send_flags);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return would_block(errno) ? Status{} : last_failure("send");
  sent_bytes = static_cast<std::size_t>(sent);
  return {};
}

Status receive_plain(int fd, const Space& into, std::size_t& got_bytes) {
  got_bytes = 0;
  std::array<iovec, 2> vector{
      {{into.first.data(), into.first.size()}, {into.rest.data(), into.rest.size()}}};
  ssize_t got;
  do {
    got = readv(fd, vector.data(), into.rest.empty() ? 1 : 2);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    return would_block(errno) ? Status{EAGAIN, "nothing to receive now"} : last_failure("receive");
  }
  got_bytes = static_cast<std::size_t>(got);
  return {};
}

Status WakeUp::create(WakeUp& out) {
#if defined(__linux__)
  FileDescriptor both(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!both) return last_failure("eventfd");
  out.read_end_ = std::move(both);
  out.write_end_ = FileDescriptor();
#else
  int ends[2];
  if (pipe(ends) != 0) return last_failure("pipe");
  out.read_end_ = FileDescriptor(ends[0]);
  out.write_end_ = FileDescriptor(ends[1]);
  for (int fd : ends) {
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, O_NONBLOCK);
  }
#endif
  return {};
}

void WakeUp::signal() const noexcept {
  const int saved_errno = errno;
  const std::uint64_t one = 1;  // eight bytes are what an eventfd takes; a pipe takes them, too
  const int fd = write_end_ ? write_end_.get() : read_end_.get();
  [[maybe_unused]] const ssize_t ignored = write(fd, &one, sizeof one);  // full: already signalled
  errno = saved_errno;
}

void WakeUp::drain() const noexcept {
  std::array<std::byte, 64> bytes;
  while (read(read_end_.get(), bytes.data(), bytes.size()) > 0) {
  }
}

Status wait_for(std::span<Interest> interests, std::int64_t deadline_ns) {
  // Without memory for the usual few: a connection is lost if waiting for it fails.
  std::array<pollfd, 8> few{};
  std::vector<pollfd> many(interests.size() > few.size() ? interests.size() : 0);
  const std::span<pollfd> polled =
      many.empty() ? std::span<pollfd>(few).first(interests.size()) : std::span<pollfd>(many);
  for (std::size_t i = 0; i < interests.size(); ++i) {
    const Interest& interest = interests[i];
    polled[i].fd = interest.fd;
    polled[i].events =
        static_cast<short>((interest.want_read ? POLLIN : 0) | (interest.want_write ? POLLOUT : 0));
  }
  int ready;
  do {
    ready = poll(polled.data(), polled.size(), milliseconds_until(deadline_ns));
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) return last_failure("poll");
  constexpr short broken = POLLERR | POLLHUP | POLLNVAL;
  for (std::size_t i = 0; i < interests.size(); ++i) {
    Interest& interest = interests[i];
    interest.readable = interest.want_read && (polled[i].revents & (POLLIN | broken)) != 0;
    interest.writable = interest.want_write && (polled[i].revents & (POLLOUT | broken)) != 0;
  }
  return {};
}

}  // namespace iw::platform
