// The Unix socket at which a daemon is found. A path has one daemon: a daemon that is alive, even a
// stopped one, keeps its path. The socket that a dead daemon left behind is replaced.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

namespace iw::ddss {

class DaemonSocket {
 public:
  // Listens for this user's processes. nullptr, and why in *why.
  static std::unique_ptr<DaemonSocket> open(const std::string& path, std::string* why);
  ~DaemonSocket();
  DaemonSocket(const DaemonSocket&) = delete;
  DaemonSocket& operator=(const DaemonSocket&) = delete;
  int fd() const { return fd_; }

 private:
  explicit DaemonSocket(const std::string& path) : path_(path) {}
  bool bind_and_listen();
  bool is_still_there() const;

  const std::string path_;
  int fd_ = -1;
  ino_t file_ = 0;  // the inode of the socket; 0: not bound
};

// Returns a connected socket. -1: nobody listens there; errno says why.
int connect_to_daemon(const std::string& path);

}  // namespace iw::ddss
