// The words of a lock, taken apart. [DDSS-LOCK-1..3] say how a node asks for the lock and gives it
// back. The queue is that of N-CoSED.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ddss/layout.h"

namespace iw::ddss {

inline constexpr std::size_t queue_at = offsetof(LockWords, queue);
inline constexpr std::size_t turn_at = offsetof(LockWords, turn);
inline constexpr std::size_t gone_at = offsetof(LockWords, sharers_gone);
inline constexpr std::size_t deaths_at = offsetof(LockWords, deaths_known);

struct Queue {
  std::uint16_t tail = 0;    // `frozen`: the node whose number is `ticket` recovers the lock
  std::uint16_t ticket = 0;  // of the next request
  std::uint32_t sharers = 0;
};
inline Queue unpack_queue(std::uint64_t word) {
  return {static_cast<std::uint16_t>(word >> 48), static_cast<std::uint16_t>(word >> 32),
          static_cast<std::uint32_t>(word)};
}
inline std::uint64_t pack(const Queue& queue) {
  return std::uint64_t{queue.tail} << 48 | std::uint64_t{queue.ticket} << 32 | queue.sharers;
}

struct Turn {
  std::uint16_t epoch = 0;
  std::uint64_t over = 0;  // 48 bits
  std::uint16_t ticket() const { return static_cast<std::uint16_t>(over); }
};
inline Turn unpack_turn(std::uint64_t word) {
  return {static_cast<std::uint16_t>(word >> 48), word & 0xffffffffffff};
}
inline std::uint64_t pack(const Turn& turn) {
  return std::uint64_t{turn.epoch} << 48 | (turn.over & 0xffffffffffff);
}

}  // namespace iw::ddss
