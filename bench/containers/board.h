// Memory that all processes of a measurement share: each receiver notes when it had what it was
// sent. The processes are of one machine, so they have one steady clock.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace bench {

inline constexpr int receivers_max = 16;

class Board {
 public:
  // A new one, for this process and those that it starts.
  Board();
  // That of the process that started this one.
  explicit Board(int fd);
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;
  int fd() const { return fd_; }

  void clear();
  // A receiver has one more now.
  void note(int receiver);
  // Until the first `receivers` have so many.
  void wait(int receivers, std::int64_t count) const;
  std::chrono::steady_clock::time_point noted(int receiver) const;

 private:
  struct alignas(64) Note {
    std::atomic<std::int64_t> count;
    std::atomic<std::int64_t> when;  // the clock's ticks
  };
  using Notes = std::array<Note, receivers_max>;
  int fd_;
  Notes* notes_;
};

}  // namespace bench
