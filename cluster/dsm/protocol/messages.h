// Times, stamps and lists of intervals in messages (spec/cluster/dsm.x, "Messages"). Values; no
// I/O.
//
// Invariant: a reader takes no more memory than the bytes that it reads, and gives no rank and no
// page that the job does not have [DSM-MAIL-1].
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "dsm/dsm.gen.h"
#include "dsm/protocol/fault_memory.h"
#include "dsm/protocol/interval_log.h"
#include "dsm/protocol/time.h"

namespace iw::dsm {

// What the numbers in messages may be.
struct Bounds {
  Rank ranks = 0;
  PageNumber pages = 0;
};

void append_time(const VectorTime& time, std::vector<std::byte>* to);
void append_intervals(std::span<const Interval> intervals, std::vector<std::byte>* to);
void append_stamps(std::span<const Stamp> stamps, std::vector<std::byte>* to);

// Takes a time from the beginning of *bytes. False: they are too short.
[[nodiscard]] bool take_time(const Bounds& bounds, std::span<const std::byte>* bytes,
                             VectorTime* time);
// All of the bytes.
[[nodiscard]] bool read_intervals(const Bounds& bounds, std::span<const std::byte> bytes,
                                  std::vector<Interval>* intervals);
[[nodiscard]] bool read_stamps(const Bounds& bounds, std::span<const std::byte> bytes,
                               FaultVector<Stamp>* stamps);
// At most given_locks_max.
[[nodiscard]] bool read_given_locks(std::span<const std::byte> bytes,
                                    std::vector<GivenLock>* locks);

// A piece of a diff, in the message.
struct DiffPiece {
  DiffHead head;
  std::span<const std::byte> bytes;
};
// How much a piece of so many bytes takes.
inline constexpr std::size_t packed_bytes(std::size_t bytes) {
  return sizeof(DiffHead) + (bytes + 7) / 8 * 8;
}
void append_piece(const DiffHead& head, std::span<const std::byte> bytes,
                  FaultVector<std::byte>* to);
// A diff of a page has at most so many bytes [DSM-DIFF-1].
inline constexpr std::size_t diff_bytes_most(std::size_t page) { return page / 2 * 5 + 8; }
// Takes a piece from the beginning of *bytes. False: it is malformed, or its page or size is not
// one of this heap.
[[nodiscard]] bool take_piece(const Bounds& bounds, std::size_t page_bytes,
                              std::span<const std::byte>* bytes, DiffPiece* piece);

}  // namespace iw::dsm
