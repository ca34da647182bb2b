#include "ddss/current.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace iw::ddss {
namespace {

std::atomic<Backend*> current{nullptr};

using Mark = std::atomic<bool>;  // its thread is in a call

// Of all threads; never destroyed, for threads may end after everything else has.
struct Marks {
  std::mutex mutex;
  std::vector<const Mark*> all;
};
Marks& marks() {
  static auto* const of_process = new Marks;
  return *of_process;
}

struct alignas(64) OwnMark {
  OwnMark() {
    const std::lock_guard held(marks().mutex);
    marks().all.push_back(&mark);
  }
  ~OwnMark() {
    const std::lock_guard held(marks().mutex);
    std::erase(marks().all, &mark);
  }
  Mark mark{false};
};

Mark& own_mark() {
  static thread_local OwnMark own;
  return own.mark;
}

void wait_until_left(const Mark& mark) {
  constexpr int yields = 100;
  constexpr std::chrono::microseconds nap{50};
  for (int i = 0; mark.load(); i++) {
    if (i < yields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(nap);
    }
  }
}

}  // namespace

bool has_current() { return current.load() != nullptr; }

bool make_current(std::unique_ptr<Backend> backend) {
  Backend* none = nullptr;
  if (!current.compare_exchange_strong(none, backend.get())) return false;
  backend.release();
  return true;
}

std::unique_ptr<Backend> take_current() {
  std::unique_ptr<Backend> taken(current.exchange(nullptr));
  const std::lock_guard held(marks().mutex);
  for (const Mark* each : marks().all) wait_until_left(*each);
  return taken;
}

// Either this finds that there is none any more, or take_current() finds the mark: both orders are
// sequentially consistent. A call that finds none leaves no mark for it to wait for.
Visit::Visit() {
  if (current.load(std::memory_order_relaxed) == nullptr) return;
  own_mark().store(true);
  backend_ = current.load();
}

Visit::~Visit() { own_mark().store(false, std::memory_order_release); }

}  // namespace iw::ddss
