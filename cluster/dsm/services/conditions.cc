#include "dsm/services/conditions.h"

#include <utility>

namespace iw::dsm {

void Conditions::await(Ticket ticket, std::uint64_t number) {
  const ServiceHead head = service(ServiceCall::await, number, ticket, 0);
  const Rank home = home_of_number(number, ranks_);
  if (home == me_) return heard_await(me_, head);
  mail_.send(home, head, {});
}

void Conditions::signal(std::uint64_t number, bool wakes_all) {
  const Rank home = home_of_number(number, ranks_);
  if (home == me_) return heard_signal(number, wakes_all);
  mail_.send(home, service(ServiceCall::signal, number, 0, wakes_all ? 1 : 0), {});
}

void Conditions::heard_await(Rank from, const ServiceHead& head) {
  queues_[head.number].push_back({from, head.ticket});
  if (from == me_) return listener_.queued(head.ticket);
  mail_.send(from, service(ServiceCall::queued, 0, head.ticket, 0), {});
}

void Conditions::heard_signal(std::uint64_t number, bool wakes_all) {
  const auto found = queues_.find(number);
  if (found == queues_.end()) return;
  std::deque<Waiter> woken;
  if (wakes_all || found->second.size() == 1) {
    woken = std::move(found->second);
    queues_.erase(found);
  } else {
    woken.push_back(found->second.front());
    found->second.pop_front();
  }
  for (const Waiter& each : woken) wake(each);
}

void Conditions::wake(const Waiter& waiter) {
  if (waiter.rank == me_) return listener_.answered(waiter.ticket, 0);
  mail_.send(waiter.rank, service(ServiceCall::wake, 0, waiter.ticket, 0), {});
}

std::size_t Conditions::waiters(std::uint64_t number) const {
  const auto found = queues_.find(number);
  return found == queues_.end() ? 0 : found->second.size();
}

}  // namespace iw::dsm
