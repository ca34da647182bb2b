#include "harness/many_sockets.h"

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace bench {

namespace {

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "bench: %s\n", what);
  std::exit(1);
}

}  // namespace

ManySockets::ManySockets(std::vector<int> fds)
    : fds_(std::move(fds)), got_(fds_.size(), 0), buffer_(1 << 16), ready_(epoll_create1(0)) {
  for (std::size_t i = 0; i < fds_.size(); ++i) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    if (epoll_ctl(ready_, EPOLL_CTL_ADD, fds_[i], &event) != 0) give_up("epoll_ctl failed");
  }
}

ManySockets::~ManySockets() { close(ready_); }

void ManySockets::receive_each(std::size_t bytes) {
  std::array<epoll_event, 256> events;
  std::size_t complete = 0;
  while (complete < fds_.size()) {
    const int ready = epoll_wait(ready_, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < ready; ++i) {
      const std::uint64_t one = events[static_cast<std::size_t>(i)].data.u64;
      const ssize_t came = recv(fds_[one], buffer_.data(), buffer_.size(), MSG_DONTWAIT);
      if (came < 0 && errno == EAGAIN) continue;
      if (came <= 0) give_up("a reader's connection ended");
      got_[one] += static_cast<std::size_t>(came);
      if (got_[one] > bytes) give_up("a reader got more than one version");
      if (got_[one] == bytes) ++complete;
    }
  }
  got_.assign(got_.size(), 0);
}

void allow_descriptors(std::size_t most) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= most) return;
  limit.rlim_cur = most;
  if (limit.rlim_cur > limit.rlim_max) limit.rlim_max = most;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) give_up("more descriptors are needed (ulimit -n)");
}

}  // namespace bench
