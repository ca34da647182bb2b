#include "fabric/door.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fabric/own_addresses.h"
#include "fabric/stream.h"

namespace iw::fabric {
namespace {

constexpr std::uint32_t question_magic = 0x31445749;  // "IWD1"
constexpr std::size_t strangers_max = 64;

// What is asked. The answer is a length of four bytes and the transport address.
struct DoorQuestion {
  std::uint32_t magic = question_magic;
  std::uint32_t worker = 0;
  std::array<std::uint64_t, 2> asked_nonce{};
  ProcessName asking;
  std::uint32_t is_lifeline = 0;
};
static_assert(std::is_trivially_copyable_v<DoorQuestion>);

void keep_alive(int fd) {
  const int on = 1, idle_s = 5, interval_s = 2, probes = 5;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

}  // namespace

Door::Door(const ProcessName& me, bool this_machine_only, Calls calls,
           std::chrono::milliseconds patience)
    : me_(me), calls_(std::move(calls)), patience_(patience) {
  place_.ip4 = this_machine_only ? htonl(INADDR_LOOPBACK) : own_ip4s().front();
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(this_machine_only ? INADDR_LOOPBACK : INADDR_ANY);
  socklen_t length = sizeof at;
  if (epoll_ < 0 || fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&at), length) != 0 ||
      listen(fd, 1024) != 0 || getsockname(fd, reinterpret_cast<sockaddr*>(&at), &length) != 0 ||
      !watch_fd(fd)) {
    if (fd >= 0) close(fd);
    return;
  }
  place_.port = at.sin_port;
  listener_ = fd;
}

Door::~Door() {
  for (const auto& [fd, caller] : callers_) close(fd);
  if (listener_ >= 0) close(listener_);
  if (epoll_ >= 0) close(epoll_);
}

bool Door::watch_fd(int fd) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  return epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0;
}

void Door::watch_listener(bool is_watched) const {
  epoll_event event{};
  if (is_watched) event.events = EPOLLIN;
  event.data.fd = listener_;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, listener_, &event);
}

bool Door::wants_lifeline(const ProcessName& process) {
  const platform::MutexLock held(mutex_);
  return std::none_of(callers_.begin(), callers_.end(), [&](const auto& each) {
    return each.second.is_lifeline && each.second.name == process;
  });
}

void Door::watch(int fd, Caller caller) {
  const platform::MutexLock held(mutex_);
  callers_.insert_or_assign(fd, std::move(caller));
  watch_fd(fd);
}

Status Door::ask(const AddressParts& whom, Deadline deadline,
                 std::vector<std::byte>* transport_address) {
  DoorQuestion question;
  question.worker = whom.worker;
  question.asked_nonce = whom.process.nonce;
  question.asking = me_;
  question.is_lifeline = wants_lifeline(whom.process) && !(whom.process == me_) ? 1 : 0;
  const bool is_here = whom.process.host == me_.host;
  int fd = -1;
  Status status =
      connect_to(is_here ? htonl(INADDR_LOOPBACK) : whom.place.ip4, whom.place.port, deadline, &fd);
  if (status == Status::ok) {
    status = send_all(fd, std::as_bytes(std::span(&question, 1)), deadline);
  }
  if (status == Status::ok) {
    status = receive_piece(fd, transport_address_bytes_max, transport_address, deadline);
  }
  if (status == Status::ok && transport_address->empty()) status = Status::peer_dead;
  if (status == Status::ok && question.is_lifeline != 0) {
    keep_alive(fd);
    watch(fd, Caller{.name = whom.process, .is_lifeline = true});
  } else if (fd >= 0) {
    close(fd);
  }
  return status;
}

void Door::handle() {
  epoll_event events[32];
  const int count = epoll_wait(epoll_, events, 32, 0);
  for (int i = 0; i < count; i++) {
    if (events[i].data.fd == listener_) {
      accept_all();
    } else {
      read(events[i].data.fd);
    }
  }
  if (is_full_) put_out_the_silent();
  if (is_full_) listen_again();
}

void Door::accept_all() {
  for (;;) {
    {
      const platform::MutexLock held(mutex_);
      is_full_ = strangers_ >= strangers_max;
    }
    if (is_full_) return watch_listener(false);
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    {
      const platform::MutexLock held(mutex_);
      strangers_++;
    }
    watch(fd, Caller{.speaks_until = Clock::now() + patience_});
  }
}

void Door::listen_again() {
  const platform::MutexLock held(mutex_);
  if (strangers_ >= strangers_max) return;
  is_full_ = false;
  watch_listener(true);
}

void Door::put_out_the_silent() {
  std::vector<int> silent;
  {
    const platform::MutexLock held(mutex_);
    const auto now = Clock::now();
    for (const auto& [fd, caller] : callers_) {
      if (!caller.is_lifeline && caller.speaks_until <= now) silent.push_back(fd);
    }
  }
  for (const int fd : silent) hang_up(fd);
}

void Door::read(int fd) {
  Caller* caller;
  {
    const platform::MutexLock held(mutex_);
    const auto found = callers_.find(fd);
    if (found == callers_.end()) return;
    caller = &found->second;  // only this thread removes callers
  }
  if (caller->is_lifeline) {  // nothing is ever said on it
    std::byte end;
    const ssize_t count = recv(fd, &end, 1, 0);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) hang_up(fd);
    return;
  }
  std::byte buffer[sizeof(DoorQuestion)];
  const ssize_t count = recv(fd, buffer, sizeof buffer - caller->received.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return hang_up(fd);
  caller->received.insert(caller->received.end(), buffer, buffer + count);
  if (caller->received.size() == sizeof(DoorQuestion) && !answer(fd, *caller)) hang_up(fd);
}

bool Door::answer(int fd, Caller& caller) {
  DoorQuestion question;
  std::memcpy(&question, caller.received.data(), sizeof question);
  if (question.magic != question_magic || question.asked_nonce != me_.nonce) return false;
  const std::vector<std::byte> address = calls_.transport_address(question.worker);
  const auto length = static_cast<std::uint32_t>(address.size());
  std::vector<std::byte> text(sizeof length + length);
  std::memcpy(text.data(), &length, sizeof length);
  std::copy(address.begin(), address.end(), text.begin() + sizeof length);
  if (send(fd, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) {
    return false;
  }
  if (question.is_lifeline == 0 || address.empty()) return false;
  keep_alive(fd);
  const platform::MutexLock held(mutex_);
  caller.received = {};
  caller.name = question.asking;
  caller.is_lifeline = true;
  strangers_--;
  return true;
}

void Door::hang_up(int fd) {
  Caller caller;
  {
    const platform::MutexLock held(mutex_);
    const auto found = callers_.find(fd);
    caller = std::move(found->second);
    callers_.erase(found);
    if (!caller.is_lifeline) strangers_--;
  }
  close(fd);
  if (caller.is_lifeline) calls_.died(caller.name);
}

}  // namespace iw::fabric
