// What spec/cluster/hello.x says, byte for byte. Written by hand: the structs are few, of fixed
// size, and read where they lie.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fabric/fabric.h"
#include "fabric/job_key.h"

namespace iw::fabric {

static_assert(std::endian::native == std::endian::little, "hello.x: the lowest byte comes first");

inline constexpr std::uint32_t hello_version = 1;
inline constexpr std::uint32_t hello_magic = 0x484c5749;
inline constexpr std::size_t transport_address_bytes_max = 4096;

// The numbers of the transport's messages that begin and end with a peer.
inline constexpr unsigned hello_id = message_ids, welcome_id = message_ids + 1,
                          goodbye_id = message_ids + 2;

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

// What all begin with.
struct HelloHead {
  std::uint32_t magic = hello_magic;
  std::uint32_t version = hello_version;
  bool is_ours() const { return magic == hello_magic && version == hello_version; }
};

struct DoorQuestion {
  HelloHead head{};
  Nonce of_asking{};
  Nonce asked_process{};
  Nonce asking_process{};
  std::uint64_t asking_host = 0;
  std::uint32_t asking_pid = 0;
  std::uint32_t asking_worker = 0;
  std::uint32_t worker = 0;
  std::uint32_t is_lifeline = 0;
  std::array<char, 32> asking_computer{};
};
static_assert(sizeof(DoorQuestion) == 112 && offsetof(DoorQuestion, asking_host) == 56 &&
              offsetof(DoorQuestion, asking_computer) == 80);

enum class ChallengeStatus : std::uint32_t { go_on, other_version };

struct Challenge {
  HelloHead head{};
  ChallengeStatus status = ChallengeStatus::go_on;
  std::uint32_t unused = 0;
  Nonce of_asked{};
  Proof proof{};
};
static_assert(sizeof(Challenge) == 64 && offsetof(Challenge, of_asked) == 16 &&
              offsetof(Challenge, proof) == 32);

struct MeetingQuestion {
  HelloHead head{};
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  Nonce of_asking{};
};
static_assert(sizeof(MeetingQuestion) == 32 && offsetof(MeetingQuestion, of_asking) == 16);

struct Hello {
  HelloHead head{};
  Address from{};
  Nonce of_asked{};
  std::uint64_t tag = 0;
  std::uint32_t index = 0;
  std::uint32_t index_of_sender = 0;
  Proof proof{};
};
static_assert(sizeof(Hello) == 152 && offsetof(Hello, of_asked) == 88 &&
              offsetof(Hello, tag) == 104 && offsetof(Hello, proof) == 120);

template <typename T>
Bytes bytes_of_message(const T& message) {
  return std::as_bytes(std::span(&message, 1));
}
inline Bytes proven_bytes(const Hello& hello) {
  return bytes_of_message(hello).first(offsetof(Hello, proof));
}

// "it speaks version 2 of the hello, this process version 1".
std::string name_versions(const HelloHead& theirs);

// The two sides of a challenge, the same at a door and where a job meets.
//
// The side that is asked: draws its number, and proves the key first.
Challenge challenge(const JobKey& key, const char* label, Bytes question);
// The side that asks. "": the other has proven the key; else why it has not.
std::string why_not_proven(const JobKey& key, const char* label, Bytes question,
                           const Challenge& answer);

}  // namespace iw::fabric
