// On Linux an epoll set, in which each source counts once for each time that it became ready. Other
// POSIX systems have the wake-up alone.
#include <utility>

#include "platform/event_descriptor.h"
#if defined(__linux__)
#include <sys/epoll.h>

#include <array>
#endif

namespace iw::platform {

#if defined(__linux__)

namespace {

bool add_source(int set, int fd) noexcept {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP | EPOLLET;
  event.data.fd = fd;
  return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

Status EventDescriptor::create(EventDescriptor& out) {
  EventDescriptor made;
  if (Status bad = WakeUp::create(made.wake_up_); !bad) return bad;
  made.all_ = FileDescriptor(epoll_create1(EPOLL_CLOEXEC));
  if (!made.all_) return last_failure("epoll_create1");
  if (!add_source(made.all_.get(), made.wake_up_.fd())) return last_failure("epoll_ctl");
  out = std::move(made);
  return {};
}

bool EventDescriptor::watch(int socket_fd) const noexcept {
  return add_source(all_.get(), socket_fd);
}

void EventDescriptor::take() const noexcept {
  std::array<epoll_event, 16> events;
  const auto most = static_cast<int>(events.size());
  while (epoll_wait(all_.get(), events.data(), most, 0) == most) {
  }
}

#else

Status EventDescriptor::create(EventDescriptor& out) { return WakeUp::create(out.wake_up_); }

bool EventDescriptor::watch(int) const noexcept { return false; }

void EventDescriptor::take() const noexcept { wake_up_.drain(); }

#endif

}  // namespace iw::platform
