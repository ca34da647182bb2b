#include "fabric/stream.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace iw::fabric {

Status wait_for(int fd, short events, Deadline deadline) {
  pollfd one{fd, events, 0};
  return wait_for_any(std::span(&one, 1), deadline);
}

Status wait_for_any(std::span<pollfd> polled, Deadline deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return Status::timed_out;
    const int ready =
        poll(polled.data(), polled.size(), static_cast<int>(std::min<long long>(left, 1000)));
    if (ready > 0) return Status::ok;
    if (ready < 0 && errno != EINTR) return Status::failed;
  }
}

Status connect_to(std::uint32_t ip4, std::uint16_t port, Deadline deadline, int* fd) {
  *fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (*fd < 0) return Status::failed;
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = ip4;
  to.sin_port = port;
  if (connect(*fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) return Status::ok;
  int error = errno;
  if (error == EINPROGRESS) {
    const Status waited = wait_for(*fd, POLLOUT, deadline);
    if (waited != Status::ok) return waited;
    socklen_t length = sizeof error;
    getsockopt(*fd, SOL_SOCKET, SO_ERROR, &error, &length);
  }
  if (error == 0) return Status::ok;
  return error == ECONNREFUSED || error == ECONNRESET ? Status::peer_dead : Status::unreachable;
}

Status send_all(int fd, Bytes from, Deadline deadline) {
  while (!from.empty()) {
    const ssize_t count = send(fd, from.data(), from.size(), MSG_NOSIGNAL);
    if (count > 0) {
      from = from.subspan(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      const Status waited = wait_for(fd, POLLOUT, deadline);
      if (waited != Status::ok) return waited;
    } else if (errno != EINTR) {
      return Status::peer_dead;
    }
  }
  return Status::ok;
}

Status receive_all(int fd, std::span<std::byte> to, Deadline deadline) {
  while (!to.empty()) {
    const ssize_t count = recv(fd, to.data(), to.size(), 0);
    if (count > 0) {
      to = to.subspan(static_cast<std::size_t>(count));
    } else if (count == 0 || errno == ECONNRESET) {
      return Status::peer_dead;
    } else if (errno == EAGAIN) {
      const Status waited = wait_for(fd, POLLIN, deadline);
      if (waited != Status::ok) return waited;
    } else if (errno != EINTR) {
      return Status::failed;
    }
  }
  return Status::ok;
}

Status send_piece(int fd, Bytes piece, Deadline deadline) {
  const auto length = static_cast<std::uint32_t>(piece.size());
  const Status status = send_all(fd, std::as_bytes(std::span(&length, 1)), deadline);
  return status == Status::ok ? send_all(fd, piece, deadline) : status;
}

Status receive_piece(int fd, std::size_t bytes_max, std::vector<std::byte>* piece,
                     Deadline deadline) {
  std::uint32_t length = 0;
  const Status status = receive_all(fd, std::as_writable_bytes(std::span(&length, 1)), deadline);
  if (status != Status::ok) return status;
  if (length > bytes_max) return Status::failed;
  piece->resize(length);
  return receive_all(fd, *piece, deadline);
}

}  // namespace iw::fabric
