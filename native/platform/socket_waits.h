// Inside platform: what the sockets of all systems need to wait and to look up names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "platform/socket.h"

namespace iw::platform {

// What poll wants: rounded up, so that it does not return just before the deadline; -1 for never.
int milliseconds_until(std::int64_t deadline_ns);

// ETIMEDOUT at the deadline.
Status wait_writable(int fd, std::int64_t deadline_ns);

// Where a host's server is: a sockaddr of the system.
struct SocketAddress {
  int family = 0;
  std::vector<std::byte> bytes;
};

// A host's addresses, at least one on success. An address in digits ("[::1]", too) is known at
// once; a name is looked up, and ETIMEDOUT is the answer at the deadline.
Status look_up(const std::string& host, std::uint16_t port, std::int64_t deadline_ns,
               std::vector<SocketAddress>& out);

// The system's part of it, which takes as long as it takes. `may_ask` false: only addresses in
// digits are understood.
Status look_up_without_deadline(const std::string& host, std::uint16_t port, bool may_ask,
                                std::vector<SocketAddress>& out);

Status connect_to(const SocketAddress& address, std::int64_t deadline_ns, Socket& out);

}  // namespace iw::platform
