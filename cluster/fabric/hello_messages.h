// What the hello's structs (hello.gen.h, of spec/cluster/hello.x) are used with: message numbers,
// labels, nonces and proofs.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "fabric/fabric.h"
#include "fabric/hello.gen.h"
#include "fabric/job_key.h"

namespace iw::fabric {

inline constexpr std::chrono::seconds door_patience{door_seconds};
inline constexpr std::chrono::seconds pass_lifetime{pass_seconds};

// The numbers of the transport's messages that begin and end with a peer.
inline constexpr unsigned hello_id = message_ids, welcome_id = message_ids + 1,
                          goodbye_id = message_ids + 2;
// The number of a message by which a process finds out whether its own worker hears (hearing.h).
inline constexpr unsigned hearing_id = answer_id + 1;

// The labels of proofs.
inline constexpr const char* door_label = "interweave door 1";
inline constexpr const char* caller_label = "interweave caller 1";
inline constexpr const char* hello_label = "interweave hello 1";
inline constexpr const char* welcome_label = "interweave welcome 1";
inline constexpr const char* first_label = "interweave first 1";
inline constexpr const char* other_label = "interweave other 1";

// A number of 128 bits that nobody can guess.
using Nonce = std::array<std::uint64_t, 2>;
Nonce draw_nonce();

inline bool is_ours(const HelloHead& head) { return head == HelloHead{}; }

template <typename T>
Bytes bytes_of_message(const T& message) {
  return std::as_bytes(std::span(&message, 1));
}
inline Bytes proven_bytes(const Hello& hello) {
  return bytes_of_message(hello).first(offsetof(Hello, proof));
}

// Of a head that is not this process's: "it is not an InterWeave process", or both versions
// [HELLO-5].
std::string why_foreign(const HelloHead& theirs);

// The two sides of a challenge, the same at a door and where a job meets.
//
// The side that is asked: draws its number, and proves the key first.
Challenge challenge(const JobKey& key, const char* label, Bytes question);
// The side that asks. "": the other has proven the key; else why it has not.
std::string why_not_proven(const JobKey& key, const char* label, Bytes question,
                           const Challenge& answer);

}  // namespace iw::fabric
