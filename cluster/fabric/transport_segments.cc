#include "fabric/transport_segments.h"

#include <sys/ipc.h>
#include <sys/shm.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace iw::fabric {

// Linux shows a segment's number as the inode of its mapping.
std::optional<std::set<int>> mapped_segments() {
  std::set<int> found;
  std::ifstream maps("/proc/self/maps");
  if (!maps.is_open()) return std::nullopt;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/SYSV") == std::string::npos) continue;
    std::istringstream words(line);
    std::string addresses, rights, offset, device;
    int number = 0;
    if (words >> addresses >> rights >> offset >> device >> number) found.insert(number);
  }
  if (maps.bad()) return std::nullopt;
  return found;
}

bool close_new_segments_to_others(const std::set<int>& before) {
  constexpr unsigned rights = 0777, rights_by_ucx = 0660;
  const auto mapped = mapped_segments();
  if (!mapped) return false;
  for (const int id : *mapped) {
    shmid_ds is{};
    const bool is_ours =
        !before.contains(id) && shmctl(id, IPC_STAT, &is) == 0 && is.shm_cpid == getpid();
    if (!is_ours || (is.shm_perm.mode & rights) != rights_by_ucx) continue;
    is.shm_perm.mode = 0600;
    if (shmctl(id, IPC_SET, &is) != 0) return false;
  }
  return true;
}

}  // namespace iw::fabric
