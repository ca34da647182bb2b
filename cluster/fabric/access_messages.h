// What workers say to each other about a memory that is only reached by asking its process: the
// requests of who asks (asking.h) and the answers (answering.h). Little-endian, at fixed places.
//
// Each request but a plain put is answered, in the order of asking. An answer to one that tells of
// puts comes when all earlier puts of the asker are done. A get of more than a piece is asked for
// piece by piece, and who asks more than `unanswered_bytes_max` at once is not answered.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fabric/fabric.h"
#include "fabric/regions.h"

namespace iw::fabric {

// Messages of the fabric's own, beside those of peers.cc.
inline constexpr MessageId request_id = message_ids + 3, answer_id = message_ids + 4;

enum class Access : std::uint32_t { put, put_and_tell, get, fetch_add, compare_swap, flush };

// The asker's name for what it asks. Only who was asked knows the secret.
struct Token {
  std::uint64_t place = 0;
  std::uint64_t secret = 0;
};

struct Request {
  PeerId from = 0;  // as its receiver knows the asker
  Access access = Access::put;
  Token token{};
  RegionName region{};
  std::uint64_t offset = 0;
  std::uint64_t operand =
      0;  // of a get the bytes, of an addition the summand; else what is expected
  std::uint64_t desired = 0;
};
static_assert(sizeof(Request) == 64);

struct Answer {
  PeerId from = 0;
  std::uint32_t status = 0;
  Token token{};
  std::uint64_t before = 0;  // of an atomic; a get's bytes follow
};
static_assert(sizeof(Answer) == 32);

// So that a piece and what goes before it are one segment of the transport's.
inline constexpr std::size_t piece_bytes_max = 60 << 10;
inline constexpr std::size_t unanswered_bytes_max = 8 * piece_bytes_max;
// What an answer costs beside its bytes.
inline constexpr std::size_t answer_bytes = 256;

}  // namespace iw::fabric
