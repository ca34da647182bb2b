#include "dsm/api/quiet_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <utility>

namespace iw::dsm {

void QuietOutput::begin() {
  const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nothing < 0) return;
  kept_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (kept_ >= 0) dup2(nothing, STDOUT_FILENO);
  close(nothing);
}

void QuietOutput::end() {
  if (kept_ < 0) return;
  // A buffer of its own, if the program has called sync_with_stdio(false).
  std::cout.flush();
  std::fflush(stdout);
  dup2(kept_, STDOUT_FILENO);
  close(std::exchange(kept_, -1));
}

}  // namespace iw::dsm
