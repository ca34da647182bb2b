// What a TCP connection has carried, as the system counts it.
#pragma once

#include <cstdint>

namespace stock {

// Both ways, from its beginning; what TCP adds is not counted. 0: not a connection.
std::uint64_t stream_bytes(int fd);

}  // namespace stock
