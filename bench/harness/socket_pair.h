// Blocking whole reads and writes, for the raw rivals.
#pragma once

#include <cstddef>

namespace bench {

void write_all(int fd, const void* bytes, std::size_t size_bytes);
void read_all(int fd, void* bytes, std::size_t size_bytes);

// A connected pair of TCP sockets over loopback, without Nagle's delay.
void tcp_pair(int ends[2]);

}  // namespace bench
