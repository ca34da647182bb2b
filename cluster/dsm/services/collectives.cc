#include "dsm/services/collectives.h"

#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

namespace iw::dsm {
namespace {

constexpr std::size_t value_bytes = 8;

// Of doubles, a NaN stays a NaN, whichever side has it.
template <typename T>
T lesser(T one, T other) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(one) || std::isnan(other)) return one + other;
  }
  return other < one ? other : one;
}

template <typename T>
T greater(T one, T other) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(one) || std::isnan(other)) return one + other;
  }
  return one < other ? other : one;
}

template <typename T, typename Combine>
void combine_each(std::span<std::byte> into, std::span<const std::byte> next, Combine combine_two) {
  static_assert(sizeof(T) == value_bytes);
  for (std::size_t at = 0; at + value_bytes <= into.size(); at += value_bytes) {
    T one;
    T other;
    std::memcpy(&one, &into[at], sizeof one);
    std::memcpy(&other, &next[at], sizeof other);
    const T both = combine_two(one, other);
    std::memcpy(&into[at], &both, sizeof both);
  }
}

bool is_valid(const Round& round, Rank ranks) {
  if (round.bytes > service_round_bytes_max) return false;
  if (round.shape == ServiceShape::broadcast) return round.source < ranks;
  return round.source == 0 && round.bytes % value_bytes == 0;
}

std::size_t bytes_of_gift(const Round& round, Rank rank) {
  if (round.shape == ServiceShape::broadcast && rank != round.source) return 0;
  return round.bytes;
}

}  // namespace

void combine(ServiceShape shape, std::span<std::byte> into, std::span<const std::byte> next) {
  const auto sum = [](auto one, auto other) { return one + other; };
  const auto minimum = [](auto one, auto other) { return lesser(one, other); };
  const auto maximum = [](auto one, auto other) { return greater(one, other); };
  switch (shape) {
    case ServiceShape::sum_int64:
      return combine_each<std::uint64_t>(into, next, sum);
    case ServiceShape::min_int64:
      return combine_each<std::int64_t>(into, next, minimum);
    case ServiceShape::max_int64:
      return combine_each<std::int64_t>(into, next, maximum);
    case ServiceShape::sum_double:
      return combine_each<double>(into, next, sum);
    case ServiceShape::min_double:
      return combine_each<double>(into, next, minimum);
    case ServiceShape::max_double:
      return combine_each<double>(into, next, maximum);
    case ServiceShape::broadcast:
      return;
  }
}

void Collectives::give(const Round& round, std::span<const std::byte> mine) {
  ServiceHead head = service(ServiceCall::give, ++number_, round.barriers, round.bytes);
  head.shape = round.shape;
  head.source = round.source;
  mine_ = round;
  if (me_ != round_manager) return mail_.send(round_manager, head, mine);
  // Cannot fail: the caller's arguments were checked before.
  static_cast<void>(heard_give(me_, head, mine));
}

bool Collectives::heard_give(Rank from, const ServiceHead& head, std::span<const std::byte> bytes) {
  if (me_ != round_manager || from >= ranks_ || head.number != ended_ + 1) return false;
  const Round round{head.shape, static_cast<Rank>(head.source),
                    static_cast<std::size_t>(head.value), head.ticket};
  if (head.source >= ranks_ || !is_valid(round, ranks_) || given_[from] ||
      bytes.size() != bytes_of_gift(round, from)) {
    return false;
  }
  given_[from] = Gift{round, {bytes.begin(), bytes.end()}};
  if (++gifts_ == ranks_) end_round();
  return true;
}

void Collectives::end_round() {
  std::vector<std::optional<Gift>> gifts =
      std::exchange(given_, std::vector<std::optional<Gift>>(ranks_));
  gifts_ = 0;
  ended_++;
  const Round round = gifts[0]->round;
  for (Rank rank = 1; rank < ranks_; rank++) {
    if (gifts[rank]->round != round) return listener_.differs(rank);
  }
  const bool is_broadcast = round.shape == ServiceShape::broadcast;
  std::vector<std::byte> result = std::move(gifts[is_broadcast ? round.source : Rank{0}]->bytes);
  for (Rank rank = 1; rank < ranks_ && !is_broadcast; rank++) {
    combine(round.shape, result, gifts[rank]->bytes);
  }
  const ServiceHead head = service(ServiceCall::result, ended_, 0, 0);
  for (Rank rank = 0; rank < ranks_; rank++) {
    if (rank != me_) mail_.send(rank, head, result);
  }
  mine_.reset();
  listener_.ended(result);
}

bool Collectives::heard_result(Rank from, const ServiceHead& head,
                               std::span<const std::byte> bytes) {
  if (from != round_manager || !mine_ || head.number != number_ || bytes.size() != mine_->bytes) {
    return false;
  }
  mine_.reset();
  listener_.ended(bytes);
  return true;
}

}  // namespace iw::dsm
