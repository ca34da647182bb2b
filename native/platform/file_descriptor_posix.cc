// POSIX.
#include <unistd.h>

#include "platform/file_descriptor.h"

namespace iw::platform {

void FileDescriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

}  // namespace iw::platform
