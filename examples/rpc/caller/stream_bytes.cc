#include "caller/stream_bytes.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace stock {

std::uint64_t stream_bytes(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
  return info.tcpi_bytes_sent - info.tcpi_bytes_retrans + info.tcpi_bytes_received;
}

}  // namespace stock
