#include "ddss/errands.h"

#include <system_error>
#include <utility>

namespace iw::ddss {

void Errands::run(std::function<void()> errand) {
  const std::lock_guard held(mutex_);
  if (is_over_) return;
  waiting_.push_back(std::move(errand));
  have_thread();
  changed_.notify_one();
}

// Where no more threads are to be had, the errands wait until the next one is to be run.
void Errands::have_thread() {
  if (thread_.joinable()) return;
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {
  }
}

void Errands::work() {
  std::unique_lock held(mutex_);
  for (;;) {
    changed_.wait(held, [this] { return is_over_ || !waiting_.empty(); });
    if (is_over_) return;
    const auto errand = std::move(waiting_.front());
    waiting_.pop_front();
    held.unlock();
    errand();
    held.lock();
  }
}

void Errands::end() {
  {
    const std::lock_guard held(mutex_);
    is_over_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

}  // namespace iw::ddss
