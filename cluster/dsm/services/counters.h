// Counters and semaphores: the questions of one rank, and the numbers that this rank is the home
// of. Pure state machines. Implement [DSM-COUNTER-1] and [DSM-SEM-1] of spec/cluster/services.x.
//
// Invariant: a semaphore with waiters is 0.
#pragma once

#include <list>
#include <unordered_map>

#include "dsm/services/service_mail.h"

namespace iw::dsm {

class Counters {
 public:
  Counters(Rank me, Rank ranks, ServiceMail& mail, ServiceListener& listener)
      : me_(me), ranks_(ranks), mail_(mail), listener_(listener) {}

  // Before the first barrier, at all ranks alike. Returns the value before.
  std::uint64_t add_in_replay(std::uint64_t number, std::uint64_t value);
  // The listener is told the value before, perhaps at once.
  void add(Ticket ticket, std::uint64_t number, std::uint64_t value);
  void heard_add(Rank from, const ServiceHead& head);

 private:
  const Rank me_;
  const Rank ranks_;
  ServiceMail& mail_;
  ServiceListener& listener_;
  std::unordered_map<std::uint64_t, std::uint64_t> values_;
};

class Semaphores {
 public:
  Semaphores(Rank me, Rank ranks, ServiceMail& mail, ServiceListener& listener)
      : me_(me), ranks_(ranks), mail_(mail), listener_(listener) {}

  // Before the first barrier, at all ranks alike.
  void post_in_replay(std::uint64_t number) { semaphores_[number].value++; }
  // The listener is told when the semaphore was not 0.
  void take(Ticket ticket, std::uint64_t number);
  void post(std::uint64_t number);
  void heard_take(Rank from, const ServiceHead& head);
  void heard_post(std::uint64_t number);

 private:
  struct Waiter {
    Rank rank;
    Ticket ticket;
  };
  struct Semaphore {
    std::uint64_t value = 0;
    std::list<Waiter> waiters;  // takes no memory while it is empty
  };
  void answer(const Waiter& waiter);

  const Rank me_;
  const Rank ranks_;
  ServiceMail& mail_;
  ServiceListener& listener_;
  std::unordered_map<std::uint64_t, Semaphore> semaphores_;
};

}  // namespace iw::dsm
