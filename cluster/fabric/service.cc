#include "fabric/service.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "fabric/ucx_worker.h"

namespace iw::fabric {
namespace {

// Some transports lose a wake-up now and then (soft RoCE does).
constexpr std::chrono::milliseconds sleep_max{250};
constexpr int events_max = 16;
// How long handlers may run before others' are run by another thread.
constexpr int relief_ms = 2;
// A little more than two processes take that wake each other.
constexpr std::int64_t soon_ns = 100'000;

std::int64_t ns_of(Deadline time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace

Service::Service(Door& door, bool may_poll) : door_(door), briskness_(may_poll ? soon_ns : 0) {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  nudge_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  timer_fd_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  is_listening_ = epoll_ >= 0 && nudge_fd_ >= 0 && timer_fd_ >= 0;
  for (const int fd : {nudge_fd_, door_.event_fd()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    is_listening_ &= epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0;
  }
}

bool Service::start() {
  if (!is_listening_) return false;
  const platform::MutexLock held(mutex_);
  take_duty();
  return start_thread([this] { run(); });
}

bool Service::start_thread(std::function<void()> what) {
  try {
    threads_.emplace_back(std::move(what));
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void Service::stop() {
  {
    const platform::MutexLock held(mutex_);
    is_stopping_ = true;  // threads_ does not change from here on
  }
  nudge();
  set_timer(1);  // each relief that hears it tells the next
  for (std::thread& each : threads_) each.join();
}

Service::~Service() {
  close(timer_fd_);
  close(nudge_fd_);
  close(epoll_);
}

void Service::add(UcxWorker* worker) {
  {
    const platform::MutexLock held(mutex_);
    clients_.push_back(std::make_unique<Client>(Client{worker}));
    changes_++;
  }
  nudge();
}

void Service::remove(UcxWorker* worker) {
  const platform::MutexLock held(mutex_);
  const auto is_it = [&](const auto& each) { return each->worker == worker; };
  const auto found = std::find_if(clients_.begin(), clients_.end(), is_it);
  if (found == clients_.end()) return;
  Client& client = **found;
  while (client.is_served) served_.wait(mutex_);
  if (client.watched >= 0) epoll_ctl(epoll_, EPOLL_CTL_DEL, client.watched, nullptr);
  std::erase_if(clients_, is_it);  // the place may have changed
  changes_++;
}

void Service::note_death(const ProcessName& process) {
  const platform::MutexLock held(mutex_);
  for (const auto& client : clients_) client->worker->note_death(process);
}

std::vector<std::byte> Service::admit(std::uint32_t worker, const Caller& caller) {
  const platform::MutexLock held(mutex_);
  for (const auto& client : clients_) {
    if (client->worker->number() == worker) return client->worker->admit(caller);
  }
  return {};
}

void Service::nudge() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(nudge_fd_, &one, sizeof one);
}

// Sleeps of 50 us would take 100 with the system's usual slack.
void Service::run() {
  prctl(PR_SET_TIMERSLACK, 1UL);
  do {
    be_on_duty();
  } while (wait_for_duty());
}

// Sees to it that there is a relief, if one more thread can be had.
void Service::take_duty() {
  duty_++;
  is_serving_ = false;
  if (reliefs_ > 0 || threads_.size() >= threads_max || is_stopping_) return;
  start_thread([this] {
    if (wait_for_duty()) run();
  });
}

void Service::set_timer(int ms) {
  itimerspec timer{};
  timer.it_value.tv_nsec = ms * 1'000'000;
  timerfd_settime(timer_fd_, 0, &timer, nullptr);
}

// Until the thread on duty has progressed one worker for as long as the timer runs.
bool Service::wait_for_duty() {
  const platform::MutexLock held(mutex_);
  reliefs_++;
  while (!is_stopping_) {
    {
      const platform::MutexUnlock waiting(mutex_);
      std::uint64_t times;
      [[maybe_unused]] const ssize_t got = read(timer_fd_, &times, sizeof times);
    }
    if (is_stopping_) break;
    const bool is_late = is_serving_ && is_timed_ && serving_ == timed_;
    is_timed_ = is_serving_ && !is_late;
    timed_ = serving_;
    if (is_timed_) set_timer(relief_ms);
    if (!is_late) continue;
    reliefs_--;
    take_duty();
    return true;
  }
  set_timer(1);
  return false;
}

void Service::be_on_duty() {
  const std::uint64_t duty = duty_;
  Deadline next = Clock::now();
  while (!is_stopping_ && is_on_duty(duty)) {
    if (next == Deadline::max()) {
      is_asleep_ = true;  // whoever changes something from here on nudges
      next = round(duty);
      if (!is_on_duty(duty)) return;
      if (next != Deadline::max()) is_asleep_ = false;
    }
    sleep(next);
    is_asleep_ = false;
    next = round(duty);
  }
}

// Sleeps, and keeps the door.
void Service::sleep(Deadline until) {
  epoll_event events[events_max];
  const auto begin = Clock::now();
  const int count = await_events(events, std::min(until, begin + sleep_max));
  hear({events, static_cast<std::size_t>(std::max(count, 0))});
}

// How many events there are: none if the time has come.
int Service::await_events(epoll_event* events, Deadline until) {
  Deadline now = Clock::now();
  const std::int64_t polls_until_ns = std::min(ns_of(until), briskness_.begin(ns_of(now)));
  int count = epoll_wait(epoll_, events, events_max, 0);
  while (count == 0 && ns_of(now) < polls_until_ns) {
    count = epoll_wait(epoll_, events, events_max, 0);
    now = Clock::now();
    briskness_.look(ns_of(now));
  }
  if (count != 0 || now >= until) return count;
  const auto left = std::chrono::nanoseconds(until - now).count();
  pollfd all{epoll_, POLLIN, 0};
  const timespec timeout{0, left};  // less than a second
  ppoll(&all, 1, &timeout, nullptr);
  return epoll_wait(epoll_, events, events_max, 0);
}

void Service::hear(std::span<const epoll_event> events) {
  const auto now = Clock::now();
  bool is_anybody_at_the_door = now - door_kept_ >= sleep_max;
  bool has_come = false;
  for (const epoll_event& event : events) {
    if (event.data.fd == nudge_fd_) {
      std::uint64_t nudges;
      [[maybe_unused]] const ssize_t got = read(nudge_fd_, &nudges, sizeof nudges);
    } else if (event.data.fd == door_.event_fd()) {
      is_anybody_at_the_door = true;
    } else {
      has_come = true;
    }
  }
  briskness_.end(ns_of(now), has_come);
  if (!is_anybody_at_the_door) return;
  door_kept_ = now;
  door_.handle();
}

Deadline Service::round(std::uint64_t duty) {
  const platform::MutexLock held(mutex_);
  Deadline next = Deadline::max();
  const Deadline now = Clock::now();
  const std::uint64_t changes = changes_;
  for (std::size_t i = 0; i < clients_.size(); i++) {
    const Care care = look_after(*clients_[i], now);
    if (!is_on_duty(duty) || changes_ != changes) return now;
    if (care == Care::busy) next = now;
    if (care != Care::waited_on) next = std::min(next, clients_[i]->leave.until());
  }
  return next;
}

Service::Care Service::look_after(Client& client, Deadline now) {
  if (client.is_served) return Care::waited_on;  // who does nudges
  if (client.leave.is_on(now)) return Care::left;
  const bool is_waited_on = client.worker->is_waited_on();
  // The wait's end nudges, but not while this thread sleeps until the watch's end.
  if (is_waited_on && !client.leave.is_served_watch()) return Care::waited_on;
  const Polled polled = client.worker->polled_since(&client.polls);
  if (!client.leave.look(now, polled) || is_waited_on) return Care::left;
  return serve(client, now);
}

Service::Care Service::serve(Client& client, Deadline now) {
  const std::uint64_t duty = duty_;
  client.is_served = is_serving_ = true;
  serving_++;
  if (!is_timed_) {
    is_timed_ = true;
    timed_ = serving_;
    set_timer(relief_ms);
  }
  UcxWorker::Served served;
  {
    const platform::MutexUnlock serving(mutex_);
    served = client.worker->serve();
  }
  client.is_served = false;
  served_.notify_all();
  if (served == UcxWorker::Served::armed) watch(client);
  if (served == UcxWorker::Served::in_use) {
    client.leave.prolong(now, Polled::by_program);
  } else {
    client.leave.note_served();
  }
  if (is_on_duty(duty)) {
    is_serving_ = false;
  } else {
    nudge();  // who is on duty has passed it over
  }
  if (served == UcxWorker::Served::busy) return Care::busy;
  return served == UcxWorker::Served::armed ? Care::armed : Care::left;
}

// A worker that has taken another transport has another descriptor.
void Service::watch(Client& client) {
  const int fd = client.worker->event_fd();
  const int before = std::exchange(client.watched, fd);
  if (before >= 0 && before != fd) epoll_ctl(epoll_, EPOLL_CTL_DEL, before, nullptr);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLONESHOT;
  event.data.fd = fd;
  epoll_ctl(epoll_, before == fd ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
}

}  // namespace iw::fabric
