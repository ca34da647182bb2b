#include "fabric/transport_segments.h"

#include <sys/ipc.h>
#include <sys/shm.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace iw::fabric {

// Linux shows a segment's number as the inode of its mapping.
std::set<int> mapped_segments() {
  std::set<int> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/SYSV") == std::string::npos) continue;
    std::istringstream words(line);
    std::string addresses, rights, offset, device;
    int number = 0;
    if (words >> addresses >> rights >> offset >> device >> number) found.insert(number);
  }
  return found;
}

bool close_new_segments_to_others(const std::set<int>& before) {
  constexpr unsigned others = 0077;
  for (const int id : mapped_segments()) {
    shmid_ds is{};
    const bool is_ours =
        !before.contains(id) && shmctl(id, IPC_STAT, &is) == 0 && is.shm_cpid == getpid();
    if (!is_ours || (is.shm_perm.mode & others) == 0) continue;
    is.shm_perm.mode &= 0777 & ~others;
    if (shmctl(id, IPC_SET, &is) != 0) return false;
  }
  return true;
}

}  // namespace iw::fabric
