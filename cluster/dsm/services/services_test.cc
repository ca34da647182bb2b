// Counters, semaphores, conditions and collectives of several ranks in one thread: whatever the
// order in which messages arrive, the answers are right, and messages that break the protocol are
// refused.
#include "dsm/services/services.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <random>

#include "testing/seed.h"

namespace iw::dsm {
namespace {

struct Letter {
  ServiceHead head;
  std::vector<std::byte> payload;
};

class World;

class Postman final : public ServiceMail {
 public:
  Postman(World& world, Rank from) : world_(world), from_(from) {}
  void send(Rank to, const ServiceHead& head, std::span<const std::byte> payload) override;

 private:
  World& world_;
  const Rank from_;
};

class World {
 public:
  explicit World(Rank ranks) {
    for (Rank rank = 0; rank < ranks; rank++) {
      mail_.push_back(std::make_unique<Postman>(*this, rank));
      ranks_.push_back(std::make_unique<Services>(rank, ranks, *mail_.back()));
    }
  }
  Services& rank(Rank rank) { return *ranks_[rank]; }
  Rank size() const { return static_cast<Rank>(ranks_.size()); }
  void send(Rank from, Rank to, Letter letter) {
    ways_[{from, to}].push_back(std::move(letter));
    sent_++;
  }
  std::size_t sent() const { return sent_; }

  // One letter of a way that `choose` picks; those of one way arrive in their order. False: no
  // letter is on its way.
  bool deliver(const std::function<std::size_t(std::size_t)>& choose) {
    std::erase_if(ways_, [](const auto& each) { return each.second.empty(); });
    if (ways_.empty()) return false;
    auto way = ways_.begin();
    std::advance(way, choose(ways_.size()));
    const auto [from, to] = way->first;
    const Letter letter = std::move(way->second.front());
    way->second.pop_front();
    EXPECT_TRUE(rank(to).heard(from, letter.head, letter.payload));
    return true;
  }
  void deliver_all() {
    while (deliver([](std::size_t) { return std::size_t{0}; })) {
    }
  }

 private:
  std::vector<std::unique_ptr<Postman>> mail_;
  std::vector<std::unique_ptr<Services>> ranks_;
  std::map<std::pair<Rank, Rank>, std::deque<Letter>> ways_;
  std::size_t sent_ = 0;
};

void Postman::send(Rank to, const ServiceHead& head, std::span<const std::byte> payload) {
  world_.send(from_, to, {head, {payload.begin(), payload.end()}});
}

std::uint64_t number_at_home(Rank home, Rank ranks) {
  std::uint64_t number = 1;
  while (home_of_number(number, ranks) != home) number++;
  return number;
}

template <typename T>
std::vector<std::byte> bytes_of_values(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

template <typename T>
T first_of(const std::vector<std::byte>& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

TEST(Services, DsmCounter1EveryAdditionGetsAValueOfItsOwn) {
  auto random = testing::seeded_random();
  World world(3);
  for (Rank rank = 0; rank < 3; rank++) EXPECT_EQ(world.rank(rank).add_in_replay(7, 100), 0u);
  std::vector<std::pair<Rank, Ticket>> asked;
  for (int round = 0; round < 50; round++) {
    for (Rank rank = 0; rank < 3; rank++) asked.emplace_back(rank, world.rank(rank).add(7, 1));
    world.deliver([&](std::size_t count) { return random() % count; });
  }
  while (world.deliver([&](std::size_t count) { return random() % count; })) {
  }
  std::vector<std::uint64_t> values;
  for (const auto& [rank, ticket] : asked) {
    ASSERT_TRUE(world.rank(rank).is_answered(ticket));
    values.push_back(world.rank(rank).close(ticket));
  }
  std::ranges::sort(values);
  for (std::size_t i = 0; i < values.size(); i++) EXPECT_EQ(values[i], 100 + i);
}

TEST(Services, DsmCounter1AnAdditionCostsTwoMessagesAndNoneAtItsHome) {
  World world(3);
  const std::uint64_t number = number_at_home(2, 3);
  world.rank(2).add(number, 1);
  EXPECT_EQ(world.sent(), 0u);
  world.rank(0).add(number, 1);
  world.deliver_all();
  EXPECT_EQ(world.sent(), 2u);
}

TEST(Services, DsmSem1AsManyTakesAreAnsweredAsThereArePostsInTheirOrder) {
  auto random = testing::seeded_random();
  for (int round = 0; round < 300; round++) {
    World world(3);
    std::vector<std::pair<Rank, Ticket>> takes;
    std::size_t posts = random() % 4;
    for (std::size_t i = 0; i < posts; i++) {
      for (Rank rank = 0; rank < 3; rank++) world.rank(rank).post_in_replay(5);
    }
    for (int step = 0; step < 12; step++) {
      const Rank rank = random() % 3;
      if (random() % 2 == 0) {
        takes.emplace_back(rank, world.rank(rank).take(5));
      } else {
        world.rank(rank).post(5);
        posts++;
      }
      world.deliver([&](std::size_t count) { return random() % count; });
    }
    world.deliver_all();
    std::size_t answered = 0;
    std::map<Rank, bool> waits;
    for (const auto& [rank, ticket] : takes) {
      const bool is_answered = world.rank(rank).is_answered(ticket);
      answered += is_answered ? 1 : 0;
      EXPECT_FALSE(is_answered && waits[rank]) << "a later take of the rank was answered first";
      waits[rank] = waits[rank] || !is_answered;
    }
    EXPECT_EQ(answered, std::min(takes.size(), posts));
  }
}

TEST(Services, DsmCond1ASignalWakesTheFirstAndABroadcastAllAndALostOneNobody) {
  World world(3);
  const std::uint64_t condition = number_at_home(1, 3);
  world.rank(0).signal(condition, false);
  world.deliver_all();
  const Ticket first = world.rank(0).await(condition);
  world.deliver_all();
  EXPECT_TRUE(world.rank(0).is_queued(first));
  EXPECT_FALSE(world.rank(0).is_answered(first));
  const Ticket second = world.rank(2).await(condition);
  world.deliver_all();
  const Ticket third = world.rank(1).await(condition);
  world.rank(1).signal(condition, false);
  world.deliver_all();
  EXPECT_TRUE(world.rank(0).is_answered(first));
  EXPECT_FALSE(world.rank(2).is_answered(second));
  world.rank(0).signal(condition, true);
  world.deliver_all();
  EXPECT_TRUE(world.rank(2).is_answered(second));
  EXPECT_TRUE(world.rank(1).is_answered(third));
}

// The waiter has the lock until it is queued, the other rank signals with the lock held. In no
// order of the messages is the signal lost.
TEST(Services, DsmCond1NoOrderOfMessagesLosesASignalUnderTheLock) {
  for (Rank home = 0; home < 3; home++) {
    for (unsigned order = 0; order < 64; order++) {
      World world(3);
      const std::uint64_t condition = number_at_home(home, 3);
      const Ticket ticket = world.rank(0).await(condition);
      unsigned rest = order;
      const auto choose = [&](std::size_t count) {
        const std::size_t chosen = rest % count;
        rest /= 2;
        return chosen;
      };
      while (!world.rank(0).is_queued(ticket)) ASSERT_TRUE(world.deliver(choose));
      // Here the waiter releases the lock, and rank 2 gets it.
      world.rank(2).signal(condition, false);
      while (world.deliver(choose)) {
      }
      EXPECT_TRUE(world.rank(0).is_answered(ticket));
    }
  }
}

TEST(Services, DsmRound1ResultsDoNotDependOnTheOrderOfArrival) {
  auto random = testing::seeded_random();
  constexpr Rank ranks = 4;
  const std::vector<double> values = {1e100, 3.25, -1e100, 1e-3};
  const double expected = ((values[0] + values[1]) + values[2]) + values[3];
  World world(ranks);
  for (int round = 0; round < 100; round++) {
    std::vector<Rank> order(ranks);
    std::iota(order.begin(), order.end(), Rank{0});
    std::ranges::shuffle(order, random);
    for (const Rank rank : order) {
      world.rank(rank).give({ServiceShape::sum_double, 0, sizeof(double)},
                            bytes_of_values<double>({values[rank]}));
      if (random() % 2 == 0) world.deliver([&](std::size_t count) { return random() % count; });
    }
    while (world.deliver([&](std::size_t count) { return random() % count; })) {
    }
    for (Rank rank = 0; rank < ranks; rank++) {
      ASSERT_TRUE(world.rank(rank).round_result());
      const double result = first_of<double>(*world.rank(rank).round_result());
      EXPECT_EQ(std::memcmp(&result, &expected, sizeof result), 0);
    }
  }
}

TEST(Services, DsmRound1AllRanksGetTheBytesOfTheSource) {
  World world(3);
  for (Rank source = 0; source < 3; source++) {
    const auto bytes = bytes_of_values<char>({'a', static_cast<char>('0' + source), 'c'});
    for (Rank rank = 0; rank < 3; rank++) {
      const Round round{ServiceShape::broadcast, source, bytes.size()};
      world.rank(rank).give(round, rank == source ? bytes : std::vector<std::byte>{});
    }
    world.deliver_all();
    for (Rank rank = 0; rank < 3; rank++) EXPECT_EQ(world.rank(rank).round_result(), bytes);
  }
}

TEST(Services, DsmRound2ARankInAnotherRoundIsNamed) {
  World world(3);
  for (Rank rank = 0; rank < 3; rank++) {
    const auto shape = rank == 1 ? ServiceShape::max_int64 : ServiceShape::sum_int64;
    world.rank(rank).give({shape, 0, 8}, bytes_of_values<std::int64_t>({rank}));
  }
  world.deliver_all();
  EXPECT_EQ(world.rank(0).differing_rank(), std::optional<Rank>(1));
}

TEST(Services, CombinesAsTheShapeSays) {
  const auto combined = [](ServiceShape shape, auto one, auto other) {
    auto into = bytes_of_values(std::vector{one});
    combine(shape, into, bytes_of_values(std::vector{other}));
    return first_of<decltype(one)>(into);
  };
  EXPECT_EQ(combined(ServiceShape::sum_int64, std::int64_t{5}, std::int64_t{-7}), -2);
  EXPECT_EQ(
      combined(ServiceShape::sum_int64, std::numeric_limits<std::int64_t>::max(), std::int64_t{1}),
      std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(combined(ServiceShape::min_int64, std::int64_t{-1}, std::int64_t{1}), -1);
  EXPECT_EQ(combined(ServiceShape::max_int64, std::int64_t{-1}, std::int64_t{1}), 1);
  EXPECT_EQ(combined(ServiceShape::min_double, 2.0, -3.0), -3.0);
  EXPECT_EQ(combined(ServiceShape::max_double, 2.0, -3.0), 2.0);
  EXPECT_TRUE(std::isnan(combined(ServiceShape::max_double, 2.0, std::nan(""))));
  EXPECT_TRUE(std::isnan(combined(ServiceShape::min_double, std::nan(""), 2.0)));
}

TEST(Services, DsmService1MessagesThatBreakTheProtocolAreRefused) {
  World world(3);
  const std::uint64_t here = number_at_home(0, 3);
  const std::uint64_t elsewhere = number_at_home(1, 3);
  const std::vector<std::byte> byte(1);
  const auto is_taken = [&](const ServiceHead& head, std::span<const std::byte> payload = {}) {
    return world.rank(0).heard(1, head, payload);
  };
  EXPECT_FALSE(is_taken(service(ServiceCall::add, elsewhere, 1, 1)));
  EXPECT_FALSE(is_taken(service(ServiceCall::take, elsewhere, 1, 0)));
  EXPECT_FALSE(is_taken(service(ServiceCall::post, elsewhere, 0, 0)));
  EXPECT_FALSE(is_taken(service(ServiceCall::await, elsewhere, 1, 0)));
  EXPECT_FALSE(is_taken(service(ServiceCall::signal, here, 0, 2)));
  EXPECT_FALSE(is_taken(service(ServiceCall::add, here, 1, 1), byte));
  EXPECT_FALSE(is_taken(service(ServiceCall::answer, 0, 77, 0)));
  EXPECT_FALSE(is_taken(service(ServiceCall::queued, 0, 77, 0)));
  EXPECT_FALSE(is_taken(service(ServiceCall::wake, 0, 77, 0)));
  EXPECT_FALSE(is_taken(service(ServiceCall::result, 1, 0, 0)));
  EXPECT_FALSE(is_taken(service(ServiceCall::give, 2, 0, 0))) << "not the next round";
  EXPECT_FALSE(is_taken(service(ServiceCall::give, 1, 0, 8), byte)) << "not as long as it says";
  ServiceHead stray = service(ServiceCall::give, 1, 0, 0);
  stray.shape = ServiceShape::broadcast;
  stray.source = 3;
  EXPECT_FALSE(is_taken(stray));
  const Ticket ticket = world.rank(0).await(elsewhere);
  EXPECT_FALSE(is_taken(service(ServiceCall::wake, 0, ticket, 0))) << "not queued yet";
  EXPECT_FALSE(is_taken(service(ServiceCall::answer, 0, ticket, 0)));
}

}  // namespace
}  // namespace iw::dsm
