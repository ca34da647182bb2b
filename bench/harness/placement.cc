#include "harness/placement.h"

#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace bench {

const char* placement_name(Placement placement) {
  return placement == Placement::free ? "free" : "one-core";
}

void place(Placement placement) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  const long count = placement == Placement::free ? sysconf(_SC_NPROCESSORS_CONF) : 1;
  for (long core = 0; core < count; ++core) CPU_SET(core, &cores);
  if (sched_setaffinity(0, sizeof cores, &cores) != 0) {
    std::perror("bench: sched_setaffinity");
    std::exit(1);
  }
}

}  // namespace bench
