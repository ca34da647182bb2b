#include "ddss/daemon_socket.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace iw::ddss {
namespace {

// False: the path cannot be used; errno says why.
bool set_path(const std::string& path, sockaddr_un* at) {
  *at = {};
  at->sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof at->sun_path) {
    errno = path.empty() ? ENOENT : ENAMETOOLONG;
    return false;
  }
  path.copy(at->sun_path, sizeof at->sun_path - 1);
  return true;
}

// The process that listens. 0: nobody listens there.
pid_t listener_at(const std::string& path) {
  const int fd = connect_to_daemon(path);
  if (fd < 0) return 0;
  ucred peer{};
  socklen_t length = sizeof peer;
  getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length);
  close(fd);
  return peer.pid;
}

// If several daemons start at once, only one of them at a time looks and binds.
class FolderLock {
 public:
  explicit FolderLock(const std::string& path) {
    const auto folder = std::filesystem::absolute(path).parent_path();
    fd_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd_ >= 0) flock(fd_, LOCK_EX);
  }
  ~FolderLock() {
    if (fd_ >= 0) close(fd_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

}  // namespace

int connect_to_daemon(const std::string& path) {
  sockaddr_un to;
  if (!set_path(path, &to)) return -1;
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) return fd;
  close(fd);
  return -1;
}

std::unique_ptr<DaemonSocket> DaemonSocket::open(const std::string& path, std::string* why) {
  const FolderLock held(path);
  std::unique_ptr<DaemonSocket> opened(new DaemonSocket(path));
  if (const pid_t other = listener_at(path); other != 0) {
    *why = "process " + std::to_string(other) + " listens there already";
    return nullptr;
  }
  struct stat is;
  if (lstat(path.c_str(), &is) == 0 && S_ISSOCK(is.st_mode)) unlink(path.c_str());
  if (opened->bind_and_listen()) return opened;
  *why = std::strerror(errno);
  return nullptr;
}

bool DaemonSocket::bind_and_listen() {
  sockaddr_un at;
  if (!set_path(path_, &at)) return false;
  fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const mode_t mask = umask(077);  // for this user's processes only
  const bool is_bound = bind(fd_, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
  umask(mask);
  struct stat is;
  if (!is_bound || lstat(path_.c_str(), &is) != 0) return false;
  file_ = is.st_ino;
  return listen(fd_, 128) == 0;
}

bool DaemonSocket::is_still_there() const {
  struct stat is;
  return file_ != 0 && lstat(path_.c_str(), &is) == 0 && is.st_ino == file_;
}

// Removes the file, unless another daemon has the path by now.
DaemonSocket::~DaemonSocket() {
  if (fd_ >= 0) close(fd_);
  if (is_still_there()) unlink(path_.c_str());
}

}  // namespace iw::ddss
