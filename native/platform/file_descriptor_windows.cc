// Windows. A descriptor is a socket, or a handle with its lowest bit set (windows_handle.h).
#include <winsock2.h>

#include "platform/file_descriptor.h"
#include "platform/windows_handle.h"

namespace iw::platform {

void FileDescriptor::close() {
  if (fd_ < 0) return;
  const int fd = std::exchange(fd_, -1);
  if (is_handle(fd)) {
    CloseHandle(handle_of(fd));
  } else {
    closesocket(static_cast<SOCKET>(fd));
  }
}

}  // namespace iw::platform
