#include "select_records/sockets.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "space/space.h"

namespace select_records {
namespace {

using services::Failure;

// A socket of the first address that `host` has, and for which `use` succeeds.
template <typename Use>
int open_socket(const std::string& host, const std::string& port, const char* what, Use use) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) {
    throw Failure("'" + host + "' is not a host; --host takes a name or an address like 10.0.0.1");
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, freeaddrinfo);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && use(fd, found->ai_addr, found->ai_addrlen) == 0) return fd;
  if (fd >= 0) close(fd);
  throw Failure(what + host + ":" + port + " failed; is --host an address of the data node?");
}

}  // namespace

int listen_on_any_port(const std::string& host) {
  return open_socket(host, "0", "listening on ", [](int fd, const sockaddr* at, socklen_t length) {
    return bind(fd, at, length) == 0 ? listen(fd, 64) : -1;
  });
}

int connect_to(const std::string& host, std::uint64_t port, std::chrono::milliseconds patience) {
  const auto connect_patiently = [&](int fd, const sockaddr* at, socklen_t length) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(patience);
    const timeval most{seconds.count(), std::chrono::microseconds(patience - seconds).count()};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    return connect(fd, at, length);
  };
  const int fd = open_socket(host, std::to_string(port), "connecting with ", connect_patiently);
  send_at_once(fd);
  return fd;
}

std::uint64_t port_of(int fd) {
  sockaddr_in at{};
  socklen_t length = sizeof at;
  getsockname(fd, reinterpret_cast<sockaddr*>(&at), &length);
  return ntohs(at.sin_port);
}

void send_at_once(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool send_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

bool receive_all(int fd, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = recv(fd, bytes.data(), bytes.size(), MSG_WAITALL);
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace select_records
