// A descriptor for a program's own event loop. It becomes readable by signal() and, where the
// system can, by bytes that arrive on a watched socket. So a message wakes the thread that waits
// for it, and no other thread in between.
#pragma once

#include "platform/file_descriptor.h"
#include "platform/socket.h"
#include "platform/status.h"

namespace iw::platform {

class EventDescriptor {
 public:
  static Status create(EventDescriptor& out);
  // From any thread.
  void signal() const noexcept { wake_up_.signal(); }
  // From now on bytes that arrive on the socket make the descriptor readable. That ends when the
  // socket is closed. False: this system cannot, or lacks memory for it.
  [[nodiscard]] bool watch(int socket_fd) const noexcept;
  // The descriptor is not readable until there is something new. REQUIRES: afterwards the caller
  // reads all that the watched sockets have.
  void take() const noexcept;
  [[nodiscard]] int fd() const { return all_ ? all_.get() : wake_up_.fd(); }

 private:
  WakeUp wake_up_;
  FileDescriptor all_;  // of the wake-up and the sockets; none where the system cannot
};

}  // namespace iw::platform
