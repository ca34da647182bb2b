#include "ddss/errands.h"

#include <system_error>
#include <utility>

namespace iw::ddss {

void Errands::run(std::function<void()> errand) {
  const platform::MutexLock held(mutex_);
  if (is_over_) return;
  waiting_.push_back(std::move(errand));
  have_thread();
  changed_.notify_one();
}

// If the system has no more threads, the errands wait until the next run() tries again.
void Errands::have_thread() {
  if (thread_.joinable()) return;
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {
  }
}

void Errands::work() {
  const platform::MutexLock held(mutex_);
  for (;;) {
    while (!is_over_ && waiting_.empty()) changed_.wait(mutex_);
    if (is_over_) return;
    const auto errand = std::move(waiting_.front());
    waiting_.pop_front();
    const platform::MutexUnlock running(mutex_);
    errand();
  }
}

void Errands::end() {
  {
    const platform::MutexLock held(mutex_);
    is_over_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

}  // namespace iw::ddss
