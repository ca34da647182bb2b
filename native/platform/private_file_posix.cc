// POSIX.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "platform/file_descriptor.h"
#include "platform/private_file.h"

namespace iw::platform {

namespace {

bool is_private(int fd, std::size_t most_bytes) {
  struct stat found = {};
  if (fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) return false;
  const bool is_own = found.st_uid == geteuid() && (found.st_mode & 077U) == 0;
  return is_own && static_cast<std::size_t>(found.st_size) <= most_bytes;
}

}  // namespace

unsigned long user_number() noexcept { return geteuid(); }

bool is_private_folder(const std::string& path) {
  struct stat found = {};
  if (lstat(path.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) return false;
  return found.st_uid == geteuid() && (found.st_mode & 077U) == 0;
}

std::string read_private_file(const std::string& path, std::size_t most_bytes) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file || !is_private(file.get(), most_bytes)) return {};
  std::string text(most_bytes, '\0');
  std::size_t bytes = 0;
  while (bytes < most_bytes) {
    const ssize_t got = read(file.get(), text.data() + bytes, most_bytes - bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    bytes += static_cast<std::size_t>(got);
  }
  text.resize(bytes);
  return text;
}

}  // namespace iw::platform
