// What the machines of services (counters, semaphores, conditions, collectives) have in common:
// their messages, the homes of their numbers, and how they tell that a question was answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dsm/protocol/time.h"
#include "dsm/services.gen.h"

namespace iw::dsm {

// A question of this rank. Never used twice.
using Ticket = std::uint64_t;

class ServiceMail {
 public:
  virtual ~ServiceMail() = default;
  // Messages of one rank to another arrive in their order. Never to this rank itself.
  virtual void send(Rank to, const ServiceHead& head, std::span<const std::byte> payload) = 0;
};

class ServiceListener {
 public:
  virtual ~ServiceListener() = default;
  // Of an addition the value before; of a take or a wake-up 0.
  virtual void answered(Ticket ticket, std::uint64_t value) = 0;
  // A waiter is in its condition's queue.
  virtual void queued(Ticket ticket) = 0;
};

// Addresses serve as numbers, and their low bits are equal.
inline Rank home_of_number(std::uint64_t number, Rank ranks) {
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;
  return static_cast<Rank>(((number * golden) >> 32) % ranks);
}

inline ServiceHead service(ServiceCall call, std::uint64_t number, Ticket ticket,
                           std::uint64_t value) {
  ServiceHead head;
  head.call = call;
  head.number = number;
  head.ticket = ticket;
  head.value = value;
  return head;
}

}  // namespace iw::dsm
