#include "dsm/services/counters.h"

#include <utility>

namespace iw::dsm {

std::uint64_t Counters::add_in_replay(std::uint64_t number, std::uint64_t value) {
  return std::exchange(values_[number], values_[number] + value);
}

void Counters::add(Ticket ticket, std::uint64_t number, std::uint64_t value) {
  const ServiceHead head = service(ServiceCall::add, number, ticket, value);
  const Rank home = home_of_number(number, ranks_);
  if (home == me_) return heard_add(me_, head);
  mail_.send(home, head, {});
}

void Counters::heard_add(Rank from, const ServiceHead& head) {
  std::uint64_t& value = values_[head.number];
  const std::uint64_t before = std::exchange(value, value + head.value);
  if (from == me_) return listener_.answered(head.ticket, before);
  mail_.send(from, service(ServiceCall::answer, 0, head.ticket, before), {});
}

void Semaphores::take(Ticket ticket, std::uint64_t number) {
  const ServiceHead head = service(ServiceCall::take, number, ticket, 0);
  const Rank home = home_of_number(number, ranks_);
  if (home == me_) return heard_take(me_, head);
  mail_.send(home, head, {});
}

void Semaphores::post(std::uint64_t number) {
  const Rank home = home_of_number(number, ranks_);
  if (home == me_) return heard_post(number);
  mail_.send(home, service(ServiceCall::post, number, 0, 0), {});
}

void Semaphores::heard_take(Rank from, const ServiceHead& head) {
  Semaphore& semaphore = semaphores_[head.number];
  const Waiter waiter{from, head.ticket};
  if (semaphore.value == 0) return semaphore.waiters.push_back(waiter);
  semaphore.value--;
  answer(waiter);
}

void Semaphores::heard_post(std::uint64_t number) {
  Semaphore& semaphore = semaphores_[number];
  if (semaphore.waiters.empty()) {
    semaphore.value++;
    return;
  }
  const Waiter first = semaphore.waiters.front();
  semaphore.waiters.pop_front();
  answer(first);
}

void Semaphores::answer(const Waiter& waiter) {
  if (waiter.rank == me_) return listener_.answered(waiter.ticket, 0);
  mail_.send(waiter.rank, service(ServiceCall::answer, 0, waiter.ticket, 0), {});
}

}  // namespace iw::dsm
