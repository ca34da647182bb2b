// Inside platform: what the sockets of all systems need to wait and to look up names.
#pragma once

#include <cstdint>
#include <string>

#include "platform/socket.h"

namespace iw::platform {

// What poll wants: rounded up, so that it does not return just before the deadline; -1 for never.
int milliseconds_until(std::int64_t deadline_ns);

// ETIMEDOUT at the deadline.
Status wait_writable(int fd, std::int64_t deadline_ns);

// "[::1]" is "::1" for the name service.
std::string host_without_brackets(const std::string& host);

}  // namespace iw::platform
