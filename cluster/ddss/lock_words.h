// The words of a lock (LockWords in layout.h), as others see them.
//
// queue, after N-CoSED: who asked last for the exclusive lock (16 bits: node + 1, 0 nobody), how
// many asked for it (16 bits), and how many asked to share it since (32 bits). Who asks for the
// exclusive lock swaps itself in and learns its ticket and how many share before it; who asks to
// share adds 1 and learns the ticket that it follows. turn: how many exclusive locks are over (low
// 48 bits); a ticket's turn comes when they are equal, and when sharers_gone has come to those who
// share before it. The high 16 bits of turn are the epoch, which changes at each recovery.
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
  std::uint16_t tail = 0;
  std::uint16_t ticket = 0;  // of the next who asks
  std::uint32_t sharers = 0;
};
inline Queue unpack_queue(std::uint64_t word) {
  return {static_cast<std::uint16_t>(word >> 48), static_cast<std::uint16_t>(word >> 32),
          static_cast<std::uint32_t>(word)};
}
inline std::uint64_t pack(const Queue& queue) {
  return std::uint64_t{queue.tail} << 48 | std::uint64_t{queue.ticket} << 32 | queue.sharers;
}

// A lock that is being recovered: `ticket` is the node that does.
inline constexpr std::uint16_t frozen = 0xffff;

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
