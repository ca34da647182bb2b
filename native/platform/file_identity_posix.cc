// POSIX.
#include <sys/stat.h>

#include "platform/file_identity.h"

namespace iw::platform {

std::optional<FileIdentity> identity_of(const std::string& file) {
  struct stat found = {};
  if (stat(file.c_str(), &found) != 0) return std::nullopt;
#ifdef __APPLE__
  const timespec& changed = found.st_ctimespec;
#else
  const timespec& changed = found.st_ctim;
#endif
  return FileIdentity{.device = static_cast<std::uint64_t>(found.st_dev),
                      .number = static_cast<std::uint64_t>(found.st_ino),
                      .changed_s = static_cast<std::int64_t>(changed.tv_sec),
                      .changed_ns = static_cast<std::int64_t>(changed.tv_nsec)};
}

}  // namespace iw::platform
