// Condition variables: the waits and signals of one rank, and the queues of the conditions that
// this rank is the home of. A pure state machine. Implements [DSM-COND-1] of
// spec/cluster/services.x.
//
// A waiter's home tells it that it is in the queue before the waiter releases its lock. Whoever
// takes the lock afterwards and signals finds the waiter there.
#pragma once

#include <deque>
#include <unordered_map>

#include "dsm/services/service_mail.h"

namespace iw::dsm {

class Conditions {
 public:
  Conditions(Rank me, Rank ranks, ServiceMail& mail, ServiceListener& listener)
      : me_(me), ranks_(ranks), mail_(mail), listener_(listener) {}

  // The listener is told `queued`, and `answered` at the wake-up.
  void await(Ticket ticket, std::uint64_t number);
  void signal(std::uint64_t number, bool wakes_all);
  void heard_await(Rank from, const ServiceHead& head);
  void heard_signal(std::uint64_t number, bool wakes_all);

  std::size_t waiters(std::uint64_t number) const;

 private:
  struct Waiter {
    Rank rank;
    Ticket ticket;
  };
  void wake(const Waiter& waiter);

  const Rank me_;
  const Rank ranks_;
  ServiceMail& mail_;
  ServiceListener& listener_;
  std::unordered_map<std::uint64_t, std::deque<Waiter>> queues_;  // none is empty
};

}  // namespace iw::dsm
