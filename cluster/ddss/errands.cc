#include "ddss/errands.h"

#include <utility>

namespace iw::ddss {

void Errands::run(std::function<void()> errand) {
  const std::lock_guard held(mutex_);
  if (is_over_) return;
  waiting_.push_back(std::move(errand));
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.notify_one();
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
