// The queues in shared memory that this process's workers read, and holes in them as a sender
// leaves them that is killed (cluster/fabric/ucx_1_13.md). The layout is that of UCX 1.13
// (uct_mm_fifo_ctl_t). In another layout no queue is found.
#pragma once

#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace iw::testing {

// A queue begins with the number of its next place, the length of a socket's address, and that
// address.
inline std::vector<std::uint64_t*> own_queues() {
  std::vector<std::uint64_t*> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t begin = 0;
    std::string rest, rights, offset, device;
    int segment = 0;
    words >> std::hex >> begin >> rest >> rights >> offset >> device >> std::dec >> segment;
    shmid_ds is{};
    const bool is_own = line.find("/SYSV") != std::string::npos && rights[0] == 'r' &&
                        shmctl(segment, IPC_STAT, &is) == 0 && is.shm_cpid == getpid();
    if (!is_own) continue;
    struct Socket {
      socklen_t length;
      sa_family_t family;
    } socket;
    const auto* at = reinterpret_cast<const std::byte*>(begin);
    std::memcpy(&socket, at + sizeof(std::uint64_t), sizeof socket);
    const bool is_queue = socket.family == AF_UNIX && socket.length > sizeof(sa_family_t) &&
                          socket.length <= sizeof(sockaddr_un);
    if (is_queue) found.push_back(reinterpret_cast<std::uint64_t*>(begin));
  }
  return found;
}

inline std::atomic_ref<std::uint64_t> next_place_of(std::uint64_t* queue) {
  return std::atomic_ref<std::uint64_t>(*queue);
}

// As a sender that has taken a place in the queue, and is killed before it has written there.
inline void leave_a_hole(std::uint64_t* queue) { next_place_of(queue).fetch_add(1); }

}  // namespace iw::testing
