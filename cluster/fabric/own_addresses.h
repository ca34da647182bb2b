// This machine's addresses, by which others may reach it.
#pragma once

#include <cstdint>
#include <vector>

namespace iw::fabric {

// IPv4, in network byte order, of the interfaces that are up, the loopback last: never empty.
std::vector<std::uint32_t> own_ip4s();

}  // namespace iw::fabric
