// See status.h.
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include "platform/status.h"

namespace iw::platform {

Status last_failure(const char* what) { return {errno != 0 ? errno : EIO, what}; }

const char* error_text(int code) { return std::strerror(code); }

bool is_shortage(int code) {
  return code == EMFILE || code == ENFILE || code == ENOMEM || code == ENOBUFS;
}

std::string shortage_text(int code) {
  switch (code) {
    case EMFILE: {
      rlimit limit{};
      const bool is_known = getrlimit(RLIMIT_NOFILE, &limit) == 0;
      return "no file descriptor is left for this process (ulimit -n" +
             (is_known ? ": " + std::to_string(limit.rlim_cur) : std::string()) + ")";
    }
    case ENFILE:
      return "no file descriptor is left on this machine (fs.file-max)";
    case ENOMEM:
    case ENOBUFS:
      return "the system has no memory left for it";
    default:
      return "";
  }
}

}  // namespace iw::platform
