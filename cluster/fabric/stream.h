// Whole pieces over non-blocking TCP sockets, until a deadline.
#pragma once

#include <poll.h>

#include "fabric/fabric.h"

namespace iw::fabric {

Status wait_for(int fd, short events, Deadline deadline);
// The same of many; which, their `revents` say.
Status wait_for_any(std::span<pollfd> polled, Deadline deadline);
// `ip4` and `port` in network byte order. The descriptor is the caller's, whatever the result.
Status connect_to(std::uint32_t ip4, std::uint16_t port, Deadline deadline, int* fd);
// All of it, or why not.
Status send_all(int fd, Bytes from, Deadline deadline);
Status receive_all(int fd, std::span<std::byte> to, Deadline deadline);
// With a length of four bytes before it.
Status send_piece(int fd, Bytes piece, Deadline deadline);
Status receive_piece(int fd, std::size_t bytes_max, std::vector<std::byte>* piece,
                     Deadline deadline);

}  // namespace iw::fabric
