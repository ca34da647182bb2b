#include "fabric/sleeper.h"

#include <poll.h>

#include <algorithm>

namespace iw::fabric {

// A thread may be about to sleep on either descriptor, the new one not armed yet.
ucs_status_t Sleeper::open(ucp_worker_h transport) {
  int event_fd = -1;
  const ucs_status_t status = ucp_worker_get_efd(transport, &event_fd);
  if (status != UCS_OK) return status;
  event_fd_ = event_fd;
  const ucp_worker_h before = transport_.exchange(transport);
  if (before == nullptr) return UCS_OK;
  ucp_worker_signal(before);
  return ucp_worker_signal(transport);
}

void Sleeper::sleep(Deadline until, const Look& is_over, const Look& arm) {
  sleepers_.fetch_add(1);
  const platform::MutexLock sleeping(mutex_);
  if (has_leader_) {
    follow(until, is_over);
  } else {
    lead(until, arm);
  }
}

// Another thread may have handled what this one waits for before this one counted as a sleeper.
void Sleeper::follow(Deadline until, const Look& is_over) {
  const std::uint64_t wakes = wakes_;
  bool is_over_now = false;
  {
    const platform::MutexUnlock looking(mutex_);
    is_over_now = is_over();
  }
  while (!is_over_now && wakes_ == wakes && someone_woke_.wait_until(mutex_, until)) {
  }
  sleepers_.fetch_sub(1);
}

void Sleeper::lead(Deadline until, const Look& arm) {
  has_leader_ = true;
  {
    const platform::MutexUnlock leading(mutex_);
    if (arm()) sleep_on_transport(until);
  }
  has_leader_ = false;
  sleepers_.fetch_sub(1);
  wake_followers();
}

void Sleeper::sleep_on_transport(Deadline until) const {
  const auto left = std::max(Clock::duration::zero(), until - Clock::now());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
  const timespec timeout{
      seconds.count(),
      std::chrono::duration_cast<std::chrono::nanoseconds>(left - seconds).count()};
  pollfd one{event_fd_, POLLIN, 0};
  ppoll(&one, 1, &timeout, nullptr);
}

void Sleeper::tell_followers() {
  if (sleepers_.load() <= 1) return;
  const platform::MutexLock held(mutex_);
  wake_followers();
}

void Sleeper::wake() {
  ucp_worker_signal(transport_);
  const platform::MutexLock held(mutex_);
  wake_followers();
}

void Sleeper::wake_followers() {
  wakes_++;
  someone_woke_.notify_all();
}

}  // namespace iw::fabric
