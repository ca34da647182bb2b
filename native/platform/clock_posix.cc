// POSIX. CLOCK_BOOTTIME is answered without a system call on the usual Linux machines.
#include <time.h>

#include "platform/clock.h"

namespace iw::platform {

namespace {
#if defined(CLOCK_BOOTTIME)
constexpr clockid_t clock_id = CLOCK_BOOTTIME;
#else
constexpr clockid_t clock_id = CLOCK_MONOTONIC;  // counts suspend on macOS, not on the BSDs
#endif
}  // namespace

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(clock_id, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace iw::platform
