#include "harness/socket_pair.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace bench {
namespace {

void require(bool ok, const char* what) {
  if (ok) return;
  std::perror(what);
  std::exit(1);
}

}  // namespace

void write_all(int fd, const void* bytes, std::size_t size_bytes) {
  const char* at = static_cast<const char*>(bytes);
  while (size_bytes > 0) {
    const ssize_t n = write(fd, at, size_bytes);
    require(n > 0, "bench: write");
    at += n;
    size_bytes -= static_cast<std::size_t>(n);
  }
}

void read_all(int fd, void* bytes, std::size_t size_bytes) {
  char* at = static_cast<char*>(bytes);
  while (size_bytes > 0) {
    const ssize_t n = read(fd, at, size_bytes);
    require(n > 0, "bench: read");
    at += n;
    size_bytes -= static_cast<std::size_t>(n);
  }
}

void tcp_pair(int ends[2]) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  require(bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0, "bench: bind");
  require(listen(listener, 1) == 0, "bench: listen");
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  ends[0] = socket(AF_INET, SOCK_STREAM, 0);
  require(connect(ends[0], reinterpret_cast<sockaddr*>(&address), size) == 0, "bench: connect");
  ends[1] = accept(listener, nullptr, nullptr);
  require(ends[1] >= 0, "bench: accept");
  close(listener);
  const int on = 1;
  for (int end = 0; end < 2; ++end) {
    setsockopt(ends[end], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
}

}  // namespace bench
