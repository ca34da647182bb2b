// Many clients and the model of a server in one thread, on a simulated clock: whatever happens next
// is chosen at random, also time-outs, lost connections, ended sessions and missing memory. A run
// is the same for the same seed, which is printed. IW_SEED=n runs that one alone.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "session/hosted_client_fixture.h"

namespace iw::session::model {
namespace {

constexpr std::size_t client_count = 40;
constexpr std::size_t threads_each = 2;
constexpr std::size_t jobs_each = 15;
constexpr std::int64_t second_ns = 1'000'000'000;
// Large enough for credit to be given back now and then.
constexpr std::uint64_t diff_bytes = 100;

class Simulation {
 public:
  // With an odd seed, clients keep grants.
  explicit Simulation(std::uint64_t seed)
      : random_(seed),
        programs_(client_count),
        server_(client_count, diff_bytes, seed % 2 == 1 ? 1 : 0) {
    const std::array<Job, 11> kinds{Job::write,           Job::write,       Job::write,
                                    Job::write_and_abort, Job::read,        Job::read,
                                    Job::read_strict,     Job::read_strict, Job::listen,
                                    Job::be_deaf,         Job::reopen};
    clients_.reserve(client_count);
    for (std::size_t i = 0; i < client_count; ++i) {
      programs_[i].resize(threads_each);
      for (Jobs& jobs : programs_[i]) {
        for (std::size_t n = 0; n < jobs_each; ++n) jobs.push_back(kinds[below(kinds.size())]);
      }
      clients_.emplace_back(i, programs_[i], server_);
    }
  }

  // The first failure; "" without one.
  std::string run() {
    constexpr std::uint64_t most_events = 3'000'000;
    while (events_ < most_events && !are_done()) {
      ++events_;
      const std::size_t i = below(client_count);
      if (below(400) == 0) {
        disturb(i);
      } else {
        (void)happen(i, below(7));
      }
      clients_[i].check_promise(server_);
      if (!clients_[i].failure().empty()) return clients_[i].failure();
    }
    if (!are_done()) return "some clients are never done";
    come_to_rest();
    return check_ends(server_, clients_);
  }

  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] std::int64_t seconds() const { return now_ns_ / second_ns; }
  [[nodiscard]] const Server& server() const { return server_; }
  [[nodiscard]] std::uint64_t disturbances() const { return disturbances_; }

 private:
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(random_() % end); }

  [[nodiscard]] bool are_done() const {
    return std::all_of(clients_.begin(), clients_.end(),
                       [](const Client& client) { return client.is_done(); });
  }

  bool happen(std::size_t i, std::size_t what) {
    Client& client = clients_[i];
    switch (what) {
      case 0:
        return client.step(server_, 0, now_ns_);
      case 1:
        return client.tick(server_, now_ns_);
      case 2:
        return client.deliver(server_, now_ns_);
      case 3:
        return client.hear_of_loss();
      case 4:
        return client.take_straggler(now_ns_);
      case 5:
        return client.step(server_, 1, now_ns_);
      default:
        if (server_.peer(i).in.empty()) return false;
        server_.serve(i);
        return true;
    }
  }

  void disturb(std::size_t i) {
    ++disturbances_;
    switch (below(8)) {
      case 0:
      case 1:
        (void)clients_[i].time_out(server_, below(threads_each));
        return;
      case 2:
        clients_[i].lose(server_, false);
        return;
      case 3:
        clients_[i].lose(server_, below(4) == 0);
        return;
      case 4:
        (void)clients_[i].step(server_, below(threads_each), now_ns_, true);
        return;
      case 5:
        if (clients_[i].has_effects()) clients_[i].lack_memory();
        return;
      default:
        now_ns_ += static_cast<std::int64_t>(below(12)) * second_ns;
        server_.set_now(now_ns_);
        (void)end_absent_sessions();
        return;
    }
  }

  // Nobody connects again for a client whose jobs are done. The server waits for it no longer, and
  // keeps no lock for it.
  bool end_absent_sessions() {
    bool has_ended = false;
    for (std::size_t i = 0; i < client_count; ++i) {
      const Server::Peer& peer = server_.peer(i);
      if (peer.is_connected || peer.session == 0 || !clients_[i].is_done()) continue;
      server_.lose(i, true);
      has_ended = true;
    }
    return has_ended;
  }

  [[nodiscard]] bool is_a_grant_kept() const {
    return std::any_of(clients_.begin(), clients_.end(),
                       [](const Client& client) { return client.keeps_grant(); });
  }

  // Messages under way arrive. Sessions of absent clients end. Unused grants are given back.
  void come_to_rest() {
    bool is_moving = true;
    while (is_moving) {
      is_moving = false;
      for (std::size_t i = 0; i < client_count; ++i) {
        for (std::size_t what = 0; what < 7; ++what) is_moving = happen(i, what) || is_moving;
      }
      if (is_moving) continue;
      is_moving = end_absent_sessions();
      if (is_a_grant_kept()) {
        now_ns_ += 2 * second_ns;
        server_.set_now(now_ns_);
        is_moving = true;
      }
      const Server::Holder* const holder = server_.holder();
      if (holder == nullptr || clients_[holder->peer].heard_fence() >= holder->fence) continue;
      server_.expire();
      is_moving = true;
    }
  }

  std::mt19937_64 random_;
  std::vector<Program> programs_;
  Server server_;
  std::vector<Client> clients_;
  std::int64_t now_ns_ = 1;
  std::uint64_t events_ = 0;
  std::uint64_t disturbances_ = 0;
};

std::vector<std::uint64_t> seeds() {
  if (const char* const chosen = std::getenv("IW_SEED"))
    return {std::strtoull(chosen, nullptr, 10)};
  std::vector<std::uint64_t> all{0, 1, 2, 3, 4};
  std::random_device entropy;
  while (all.size() < 10) all.push_back(entropy());
  return all;
}

TEST(ManyClients, OfOneThreadShareASegmentWhateverIsLost) {
  for (const std::uint64_t seed : seeds()) {
    Simulation simulation(seed);
    const std::string failure = simulation.run();
    std::printf("seed %llu: %llu events, %llu disturbances, %llu versions, %lld s\n",
                static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(simulation.events()),
                static_cast<unsigned long long>(simulation.disturbances()),
                static_cast<unsigned long long>(simulation.server().version()),
                static_cast<long long>(simulation.seconds()));
    EXPECT_EQ(failure, "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace iw::session::model
