// What containers send each other. Every message is an Active Message request with eight words and
// a block, and is answered from its handler.
//
// A link is one reader's tie to one writer; its number is chosen at random by the reader when it
// joins, and whatever has another number is answered with `gone`. Items of a link (updates, whole
// objects) are numbered in a row; each consists of parts, numbered from 0, of which the last is
// shorter than the others. The checksum is over a part's block, kind, signature and part number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace iw::containers {

// Positive: a shipped function's number. -1 to -3: see insert_number.
enum Kind : int {
  whole_object = -4,
  ping = -5,
  writer_ended = -6,
  writer_moved = -7,
  role_is_yours = -8,
  // to the writer
  join = -20,
  leave = -21,
  want_object = -22,
  want_role = -23,
  role_taken = -24
};

enum class Answer : int { ok, queue_full, gone, refused };

struct Head {
  int sender = 0;  // the sending endpoint's number in its process: comes back with the message
  int link = 0;
  int kind = 0;
  std::uint32_t sequence = 0;
  std::uint32_t part = 0;
  std::uint32_t signature = 0;
  std::uint32_t checksum = 0;
  int life_ms = 0;
};

inline std::uint32_t checksum_of(int kind, std::uint32_t signature, std::uint32_t part,
                                 std::span<const std::byte> block) {
  std::uint32_t value = 2166136261u;  // FNV-1a
  for (const std::uint32_t word : {static_cast<std::uint32_t>(kind), signature, part}) {
    value = (value ^ word) * 16777619u;
  }
  for (const std::byte each : block) value = (value ^ static_cast<std::uint8_t>(each)) * 16777619u;
  return value;
}

}  // namespace iw::containers
