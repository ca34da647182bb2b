// What a node does of its own accord and has to wait for: neither a handler nor a call that answers
// at once may. One thread, from the first errand on, runs them one after the other.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace iw::ddss {

class Errands {
 public:
  Errands() = default;
  ~Errands() { end(); }
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;

  // From anywhere. Dropped after end().
  void run(std::function<void()> errand);
  // Waits for the errand that is being run; the others are dropped. Not for an errand to call.
  void end();

 private:
  void have_thread();
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace iw::ddss
