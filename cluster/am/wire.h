// What travels: a Head, its words (one more if they are odd), and the block as the fabric's
// payload; little-endian.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "interweave/am.h"

namespace iw::am {

enum class Kind : std::uint8_t {
  request = 1,
  reply,
  returned_request,  // to the sender: `slot` came back because of `status`
  returned_reply,    // the same of a reply, with its head and words
  acknowledge,       // only `replies_handled`
  map,               // these three carry a Mapping
  mapped,
  gone,         // the endpoint was freed
  ask_handled,  // to be answered by `acknowledge`, behind all that was sent before
};

enum class Category : std::uint8_t { words = 1, block, xfer, get };  // of requests and replies

inline constexpr std::uint16_t no_handler = 0xffff;  // the library's own reply

struct Head {
  Kind kind;
  Category category;
  std::uint8_t n_args;
  std::uint8_t status;
  std::uint16_t handler;
  std::uint16_t slot;             // of the requester's window
  std::uint32_t connection;       // as its receiver calls it
  std::uint32_t replies_handled;  // by the sender, on this connection, since it began
  std::uint64_t tag;
  std::uint64_t offset;
};
static_assert(sizeof(Head) == 32);

constexpr std::size_t header_bytes(std::size_t n_args) {
  return sizeof(Head) + (n_args + 1) / 2 * 2 * sizeof(std::int32_t);
}

// A message's header as it arrived.
struct HeadAndWords {
  Head head;
  const std::byte* words;
  std::int32_t word(int i) const {
    std::int32_t value;
    std::memcpy(&value, words + static_cast<std::size_t>(i) * sizeof value, sizeof value);
    return value;
  }
  std::array<int, AM_MAX_ARGS> all_words() const {
    std::array<int, AM_MAX_ARGS> all{};
    for (int i = 0; i < head.n_args; i++) all[static_cast<std::size_t>(i)] = word(i);
    return all;
  }
};

// The block of a get; `offset` says where from.
struct GetBody {
  std::uint64_t own_offset;
  std::uint64_t nbytes;
};

struct Mapping {
  std::uint32_t asking_endpoint;
  std::uint32_t asked_endpoint;
  std::uint32_t asking_connection;
  std::uint32_t asked_connection;  // in the answer
};

}  // namespace iw::am
