#include "fabric/open_files.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>

namespace iw::fabric {

void have_as_many_open_files_as_may_be() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// They are taken and given back: a limit and a count of what is open would tell of it only where
// the numbers have no holes.
bool has_open_files_for_a_peer() {
  constexpr std::size_t enough = 16;
  std::array<int, enough> taken;
  std::size_t count = 0;
  const int first = eventfd(0, EFD_CLOEXEC);
  while (first >= 0 && count < enough) {
    const int next = fcntl(first, F_DUPFD_CLOEXEC, 0);
    if (next < 0) break;
    taken[count++] = next;
  }
  for (std::size_t i = 0; i < count; i++) close(taken[i]);
  if (first >= 0) close(first);
  return count == enough;
}

}  // namespace iw::fabric
