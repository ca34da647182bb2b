// POSIX.
#include "platform/file_descriptor.h"

#include <unistd.h>

namespace iw::platform {

void FileDescriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

}  // namespace iw::platform
