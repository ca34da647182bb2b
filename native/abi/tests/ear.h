// What the library calls a process for, in the order of the calls.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>

#include "interweave.h"
#include "platform/clock.h"
#include "platform/socket.h"

namespace iw::test {

class Ear {
 public:
  static void change(IW_handle_t, std::uint64_t version, void* ear) {
    static_cast<Ear*>(ear)->add("version " + std::to_string(version));
  }
  static void connection(IW_handle_t, IW_connection_t state, void* ear) {
    const char* const texts[] = {"", "connected", "disconnected", "lost"};
    static_cast<Ear*>(ear)->add(texts[state]);
  }

  // From now on callbacks run in next(), as in a program with an event loop.
  std::string listen_in_loop() {
    event_fd_ = IW_event_fd();
    return event_fd_ < 0 ? "error " + std::to_string(event_fd_) : "ok";
  }

  // Waits for the next call.
  std::string next() {
    std::unique_lock lock(mutex_);
    while (all_.empty()) {
      if (event_fd_ < 0) {
        heard_.wait(lock);
        continue;
      }
      lock.unlock();
      platform::Interest events{event_fd_};
      (void)platform::wait_for({&events, 1}, platform::never_ns);
      (void)IW_dispatch();
      lock.lock();
    }
    const std::string first = all_.front();
    all_.pop_front();
    return first;
  }

 private:
  void add(const std::string& what) {
    const std::lock_guard lock(mutex_);
    all_.push_back(what);
    heard_.notify_one();
  }

  int event_fd_ = -1;
  std::mutex mutex_;
  std::condition_variable heard_;
  std::deque<std::string> all_;
};

}  // namespace iw::test
