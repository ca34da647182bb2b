#include "dsm/services/services.h"

namespace iw::dsm {

Services::Services(Rank me, Rank ranks, ServiceMail& mail)
    : me_(me),
      ranks_(ranks),
      counters_(me, ranks, mail, *this),
      semaphores_(me, ranks, mail, *this),
      conditions_(me, ranks, mail, *this),
      collectives_(me, ranks, mail, *this) {}

Ticket Services::open(ServiceCall call) {
  questions_[++last_].call = call;
  return last_;
}

Services::Question* Services::question_of(Ticket ticket) {
  const auto found = questions_.find(ticket);
  return found == questions_.end() ? nullptr : &found->second;
}

Ticket Services::add(std::uint64_t counter, std::uint64_t value) {
  const Ticket ticket = open(ServiceCall::add);
  counters_.add(ticket, counter, value);
  return ticket;
}

Ticket Services::take(std::uint64_t semaphore) {
  const Ticket ticket = open(ServiceCall::take);
  semaphores_.take(ticket, semaphore);
  return ticket;
}

Ticket Services::await(std::uint64_t condition) {
  const Ticket ticket = open(ServiceCall::await);
  conditions_.await(ticket, condition);
  return ticket;
}

std::uint64_t Services::close(Ticket ticket) {
  const std::uint64_t value = questions_.at(ticket).value;
  questions_.erase(ticket);
  return value;
}

void Services::give(const Round& round, std::span<const std::byte> mine) {
  round_result_.reset();
  collectives_.give(round, mine);
}

bool Services::is_for_here(const ServiceHead& head) const {
  return home_of_number(head.number, ranks_) == me_;
}

bool Services::heard(Rank from, const ServiceHead& head, std::span<const std::byte> payload) {
  switch (head.call) {
    case ServiceCall::give:
      return collectives_.heard_give(from, head, payload);
    case ServiceCall::result:
      return collectives_.heard_result(from, head, payload);
    default:
      break;
  }
  if (from == me_ || from >= ranks_ || !payload.empty()) return false;
  switch (head.call) {
    case ServiceCall::add:
      if (!is_for_here(head)) return false;
      counters_.heard_add(from, head);
      return true;
    case ServiceCall::take:
      if (!is_for_here(head)) return false;
      semaphores_.heard_take(from, head);
      return true;
    case ServiceCall::post:
      if (!is_for_here(head)) return false;
      semaphores_.heard_post(head.number);
      return true;
    case ServiceCall::await:
      if (!is_for_here(head)) return false;
      conditions_.heard_await(from, head);
      return true;
    case ServiceCall::signal:
      if (!is_for_here(head) || head.value > 1) return false;
      conditions_.heard_signal(head.number, head.value == 1);
      return true;
    default:
      return heard_answer(head);
  }
}

bool Services::heard_answer(const ServiceHead& head) {
  const Question* const question = question_of(head.ticket);
  if (question == nullptr || question->is_answered) return false;
  const bool is_await = question->call == ServiceCall::await;
  switch (head.call) {
    case ServiceCall::answer:
      if (is_await) return false;
      answered(head.ticket, head.value);
      return true;
    case ServiceCall::queued:
      if (!is_await || question->is_queued) return false;
      queued(head.ticket);
      return true;
    case ServiceCall::wake:
      if (!is_await || !question->is_queued) return false;
      answered(head.ticket, 0);
      return true;
    default:
      return false;
  }
}

void Services::answered(Ticket ticket, std::uint64_t value) {
  Question* const question = question_of(ticket);
  if (question == nullptr) return;
  question->is_answered = true;
  question->value = value;
}

void Services::queued(Ticket ticket) {
  Question* const question = question_of(ticket);
  if (question != nullptr) question->is_queued = true;
}

void Services::ended(std::span<const std::byte> result) {
  round_result_.emplace(result.begin(), result.end());
}

void Services::differs(Rank rank) { differing_rank_ = rank; }

}  // namespace iw::dsm
