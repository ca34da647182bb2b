// Inside platform: waiting and looking up names, for the sockets of all systems.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "platform/socket.h"

namespace iw::platform {

// poll's timeout for a deadline: rounded up, so that poll does not return just before it; -1 for
// never.
int milliseconds_until(std::int64_t deadline_ns);

// ETIMEDOUT at the deadline.
Status wait_writable(int fd, std::int64_t deadline_ns);

// What Socket does without TLS.
Status send_plain(int fd, std::span<const Slice> slices, std::size_t& sent_bytes);
Status receive_plain(int fd, const Space& into, std::size_t& got_bytes);

// Where a host's server is: a sockaddr of the system.
struct SocketAddress {
  int family = 0;
  std::vector<std::byte> bytes;
};

// Gives a host's addresses, at least one on success. Digits ("[::1]", too) need no look-up. A name
// is looked up; ETIMEDOUT at the deadline.
Status look_up(const std::string& host, std::uint16_t port, std::int64_t deadline_ns,
               std::vector<SocketAddress>& out);

// The system's look-up, which cannot be cancelled. If `may_ask` is false, only addresses in digits
// are understood.
Status look_up_without_deadline(const std::string& host, std::uint16_t port, bool may_ask,
                                std::vector<SocketAddress>& out);

Status connect_to(const SocketAddress& address, std::int64_t deadline_ns, Socket& out);

}  // namespace iw::platform
