// A server process for the time of a measurement: `interweave serve` or redis-server, in a folder
// of its own, killed and cleaned up at the end.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace bench {

class ChildServer {
 public:
  ~ChildServer();
  ChildServer(ChildServer&& other) noexcept;
  ChildServer(const ChildServer&) = delete;

  // Waits for its `listening A` line; address() is A. The program is $IW_PROGRAM or `interweave`.
  // On 127.0.0.1 clients of the same host take a Unix socket by themselves; on another loopback
  // address they use TCP (NET-1). Nothing is kept on disk, but if `is_stored`.
  static ChildServer interweave(const std::string& listen = "127.0.0.1:0", bool is_stored = false);
  // A program that prints such a line.
  static ChildServer listening(const std::vector<std::string>& command);
  // Listens on a Unix socket only; address() is the socket's path. Keeps nothing on disk, or, if
  // `is_synced`, each change before it is answered (appendfsync always).
  static ChildServer redis(bool is_synced = false);
  // memcached in the same way.
  static ChildServer memcached();

  const std::string& address() const { return address_; }
  pid_t pid() const { return pid_; }

 private:
  ChildServer() = default;
  void listen(const std::vector<std::string>& command);
  pid_t pid_ = -1;
  std::string address_;
  std::string folder_;
};

}  // namespace bench
