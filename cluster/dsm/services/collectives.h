// Reductions and broadcasts, by rounds at rank 0. A pure state machine. Implements [DSM-ROUND-1]
// and [DSM-ROUND-2] of spec/cluster/services.x.
//
// Rank 0 keeps the bytes of all ranks and combines them in the order of the ranks, so the result
// does not depend on the order in which they came.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "dsm/services/service_mail.h"

namespace iw::dsm {

inline constexpr Rank round_manager = 0;

// What one round does; the same at all ranks.
struct Round {
  ServiceShape shape = ServiceShape::broadcast;
  Rank source = 0;  // of a broadcast
  std::size_t bytes = 0;
  std::uint64_t barriers = 0;  // that a rank has passed before
  friend bool operator==(const Round&, const Round&) = default;
};

class RoundListener {
 public:
  virtual ~RoundListener() = default;
  // The bytes live until the call returns.
  virtual void ended(std::span<const std::byte> result) = 0;
  // The program is wrong: this rank is in another round than a rank before it.
  virtual void differs(Rank rank) = 0;
};

class Collectives {
 public:
  Collectives(Rank me, Rank ranks, ServiceMail& mail, RoundListener& listener)
      : me_(me), ranks_(ranks), mail_(mail), listener_(listener), given_(ranks) {}

  // `mine`: of a reduction round.bytes; of a broadcast so many at the source, none elsewhere. One
  // thread of the rank at a time, again after the listener was told.
  void give(const Round& round, std::span<const std::byte> mine);

  // False: the message breaks the protocol.
  [[nodiscard]] bool heard_give(Rank from, const ServiceHead& head,
                                std::span<const std::byte> bytes);
  [[nodiscard]] bool heard_result(Rank from, const ServiceHead& head,
                                  std::span<const std::byte> bytes);

 private:
  struct Gift {
    Round round;
    std::vector<std::byte> bytes;
  };
  void end_round();

  const Rank me_;
  const Rank ranks_;
  ServiceMail& mail_;
  RoundListener& listener_;
  std::uint64_t number_ = 0;   // of the round to which this rank gave last
  std::optional<Round> mine_;  // under way
  std::uint64_t ended_ = 0;    // at rank 0
  std::vector<std::optional<Gift>> given_;
  std::size_t gifts_ = 0;
};

// into[i] = into[i] combined with next[i], for the values of the shape. Both have equally many
// bytes.
void combine(ServiceShape shape, std::span<std::byte> into, std::span<const std::byte> next);

}  // namespace iw::dsm
