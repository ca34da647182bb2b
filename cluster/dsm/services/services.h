// All services of one rank: counters, semaphores, conditions and collectives, and the questions of
// this rank that are open. A pure state machine: the node carries its messages and its threads wait
// until a question is answered. Implements [DSM-SERVICE-1] of spec/cluster/services.x.
//
// REQUIRES: the rank's mutex is held at each call, those of a constant object among them.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "dsm/services/collectives.h"
#include "dsm/services/conditions.h"
#include "dsm/services/counters.h"
#include "dsm/services/service_mail.h"

namespace iw::dsm {

class Services final : ServiceListener, RoundListener {
 public:
  Services(Rank me, Rank ranks, ServiceMail& mail);
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  // Before the first barrier, at all ranks alike.
  std::uint64_t add_in_replay(std::uint64_t counter, std::uint64_t value) {
    return counters_.add_in_replay(counter, value);
  }
  void post_in_replay(std::uint64_t semaphore) { semaphores_.post_in_replay(semaphore); }

  Ticket add(std::uint64_t counter, std::uint64_t value);
  Ticket take(std::uint64_t semaphore);
  Ticket await(std::uint64_t condition);
  void post(std::uint64_t semaphore) { semaphores_.post(semaphore); }
  void signal(std::uint64_t condition, bool wakes_all) { conditions_.signal(condition, wakes_all); }

  bool is_queued(Ticket ticket) const { return questions_.at(ticket).is_queued; }
  bool is_answered(Ticket ticket) const { return questions_.at(ticket).is_answered; }
  // Closes the question.
  std::uint64_t close(Ticket ticket);

  // See Collectives::give. The round is over when round_result or differing_rank has a value.
  void give(const Round& round, std::span<const std::byte> mine);
  const std::optional<std::vector<std::byte>>& round_result() const { return round_result_; }
  // At rank 0: a rank that is in another round than the ranks before it.
  const std::optional<Rank>& differing_rank() const { return differing_rank_; }

  // False: the message breaks the protocol.
  [[nodiscard]] bool heard(Rank from, const ServiceHead& head, std::span<const std::byte> payload);

 private:
  struct Question {
    ServiceCall call;
    bool is_queued = false;
    bool is_answered = false;
    std::uint64_t value = 0;
  };
  Ticket open(ServiceCall call);
  Question* question_of(Ticket ticket);
  bool is_for_here(const ServiceHead& head) const;
  bool heard_answer(const ServiceHead& head);

  void answered(Ticket ticket, std::uint64_t value) override;
  void queued(Ticket ticket) override;
  void ended(std::span<const std::byte> result) override;
  void differs(Rank rank) override;

  const Rank me_;
  const Rank ranks_;
  Counters counters_;
  Semaphores semaphores_;
  Conditions conditions_;
  Collectives collectives_;
  Ticket last_ = 0;
  std::unordered_map<Ticket, Question> questions_;
  std::optional<std::vector<std::byte>> round_result_;
  std::optional<Rank> differing_rank_;
};

}  // namespace iw::dsm
