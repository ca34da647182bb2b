// The Unix socket at which a daemon is found. One daemon a path: one that is alive, or only
// stopped, is not put out of its place, and what a dead one left behind is replaced.
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
  ino_t file_ = 0;  // the path's; 0: not bound
};

// Connected; -1, and why in errno, if nobody listens there.
int connect_to_daemon(const std::string& path);

}  // namespace iw::ddss
