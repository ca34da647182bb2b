#include "fabric/service.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "fabric/ucx_worker.h"

namespace iw::fabric {
namespace {

constexpr int tick_ms = 1;
// Some transports lose a wake-up now and then (soft RoCE does).
constexpr int sleep_ms_max = 250;

}  // namespace

Service::Service(Door& door) : door_(door) {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  nudge_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  for (const int fd : {nudge_fd_, door_.event_fd()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }
}

void Service::start() {
  thread_ = std::thread([this] { run(); });
}

void Service::stop() {
  is_stopping_ = true;
  nudge();
  thread_.join();
}

Service::~Service() {
  close(nudge_fd_);
  close(epoll_);
}

void Service::add(UcxWorker* worker) {
  {
    const std::lock_guard held(mutex_);
    clients_.push_back(Client{worker});
  }
  nudge();
}

void Service::remove(UcxWorker* worker) {
  const std::lock_guard held(mutex_);
  const auto found = std::find_if(clients_.begin(), clients_.end(),
                                  [&](const Client& each) { return each.worker == worker; });
  if (found == clients_.end()) return;
  if (found->is_watched) epoll_ctl(epoll_, EPOLL_CTL_DEL, worker->event_fd(), nullptr);
  clients_.erase(found);
}

void Service::note_death(const ProcessName& process) {
  const std::lock_guard held(mutex_);
  for (const Client& client : clients_) client.worker->note_death(process);
}

std::vector<std::byte> Service::transport_address(std::uint32_t worker) const {
  const std::lock_guard held(mutex_);
  for (const Client& client : clients_) {
    if (client.worker->number() == worker) return client.worker->transport_address();
  }
  return {};
}

void Service::nudge() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(nudge_fd_, &one, sizeof one);
}

void Service::run() {
  bool is_tick = true;
  while (!is_stopping_) {
    if (!is_tick) {
      is_asleep_ = true;  // whoever changes something from here on nudges
      is_tick = round();
      if (is_tick) is_asleep_ = false;
    }
    sleep(is_tick);
    is_asleep_ = false;
    door_.handle();
    is_tick = round();
  }
}

void Service::sleep(bool is_tick) {
  epoll_event events[16];
  const int timeout_ms = is_busy_ ? 0 : is_tick ? tick_ms : sleep_ms_max;
  const int count = epoll_wait(epoll_, events, 16, timeout_ms);
  for (int i = 0; i < count; i++) {
    if (events[i].data.fd != nudge_fd_) continue;
    std::uint64_t nudges;
    [[maybe_unused]] const ssize_t got = read(nudge_fd_, &nudges, sizeof nudges);
  }
}

bool Service::round() {
  const std::lock_guard held(mutex_);
  bool must_follow = false;
  is_busy_ = false;
  for (Client& client : clients_) {
    const Care care = look_after(client);
    is_busy_ = is_busy_ || care == Care::busy;
    must_follow = must_follow || care == Care::polled || care == Care::busy;
  }
  return must_follow;
}

Service::Care Service::look_after(Client& client) {
  const std::uint64_t polls = client.worker->polls();
  const bool has_moved = polls != client.polls;
  client.polls = polls;
  if (has_moved) return Care::polled;
  if (client.worker->is_waited_on()) return Care::waited_on;
  if (client.worker->serve() == UcxWorker::Served::busy) return Care::busy;
  watch(client);
  return Care::armed;
}

void Service::watch(Client& client) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLONESHOT;
  event.data.fd = client.worker->event_fd();
  epoll_ctl(epoll_, client.is_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, event.data.fd, &event);
  client.is_watched = true;
}

}  // namespace iw::fabric
