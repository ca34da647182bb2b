// A reader-writer lock for index lookups of some 50 ns. Entering is one atomic addition. Readers
// step back while a writer is inside or waiting. Fault handlers use try_enter, which never waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace iw::memory {

class Gate {
 public:
  [[nodiscard]] bool try_enter() noexcept {
    if ((state_.fetch_add(1, std::memory_order_acquire) & writer_inside) == 0) return true;
    leave();
    return false;
  }
  void enter() noexcept {
    while (!try_enter()) std::this_thread::yield();
  }
  void leave() noexcept { state_.fetch_sub(1, std::memory_order_release); }

  void lock() noexcept {
    while ((state_.fetch_or(writer_inside, std::memory_order_acquire) & writer_inside) != 0) {
      std::this_thread::yield();
    }
    while (state_.load(std::memory_order_acquire) != writer_inside) std::this_thread::yield();
  }
  void unlock() noexcept { state_.fetch_and(~writer_inside, std::memory_order_release); }

 private:
  static constexpr std::uint32_t writer_inside = std::uint32_t{1} << 31;
  std::atomic<std::uint32_t> state_{0};  // the bit, and how many readers are inside
};

class GateReader {
 public:
  explicit GateReader(Gate& gate) noexcept : gate_(gate) { gate_.enter(); }
  ~GateReader() { gate_.leave(); }
  GateReader(const GateReader&) = delete;
  GateReader& operator=(const GateReader&) = delete;

 private:
  Gate& gate_;
};

}  // namespace iw::memory
