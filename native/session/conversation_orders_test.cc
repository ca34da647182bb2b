// All orders of messages between up to three clients and the model of a server, with requests that
// are given up, lost connections, sessions that end, leases that end, and messages that are not
// sent for lack of memory [LOCK-1..11, PROC-1, NOT-1..5, CONN-4]. Every step that anybody could
// take next is tried, from every world that can be reached. Worlds are known again by a hash of all
// that makes a difference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <vector>

#include "session/hosted_client_fixture.h"

namespace iw::session::model {
namespace {

// Of 64 bits: a million worlds have one collision in 30 million walks.
class Hash {
 public:
  template <typename... Fields>
  void operator()(const Fields&... fields) {
    (add(fields), ...);
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  template <typename Field>
  void add(const Field& field) {
    if constexpr (std::is_same_v<Field, version_stamp>) {
      mix(field.incarnation);
      mix(field.number);
    } else if constexpr (std::is_same_v<Field, protocol::session_id>) {
      mix(field[0] + 256U * field[1]);
    } else if constexpr (std::is_same_v<Field, Down>) {
      mix(field.number);
    } else {
      mix(static_cast<std::uint64_t>(field));
    }
  }
  void mix(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x9E3779B97F4A7C15U;
    value_ ^= value_ >> 29U;
  }

  std::uint64_t value_ = 1;
};

struct Budget {
  int time_outs = 0;
  int losses = 0;
  int ended_sessions = 0;
  int ended_leases = 0;
  int renewals = 0;
  int shortages = 0;
  std::size_t keeps_after = 0;  // grants in a row; 0: no client keeps grants
};

struct World {
  Server server;
  std::vector<Client> clients;
  Budget left;
  std::string steps;  // that led here

  World(const std::vector<Program>& programs, const Budget& budget)
      : server(programs.size(), sizeof(std::uint64_t), budget.keeps_after), left(budget) {
    for (std::size_t i = 0; i < programs.size(); ++i) clients.emplace_back(i, programs[i], server);
  }

  [[nodiscard]] std::uint64_t hash() const {
    Hash hash;
    server.describe(hash);
    for (const Client& client : clients) client.describe(hash);
    hash(left.time_outs, left.losses, left.ended_sessions, left.ended_leases, left.renewals,
         left.shortages);
    return hash.value();
  }
};

class Walk {
 public:
  explicit Walk(World world) {
    reach(std::move(world));
    while (!to_do_.empty() && failure_.empty()) {
      const World next = std::move(to_do_.back());
      to_do_.pop_back();
      step_all(next);
    }
  }
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] std::size_t worlds() const { return seen_.size(); }
  [[nodiscard]] std::size_t ends() const { return ends_; }
  // The most sections of a client that began under a kept grant.
  [[nodiscard]] std::uint64_t resumed() const { return resumed_; }
  [[nodiscard]] std::size_t most_in_flight() const { return most_in_flight_; }

 private:
  static constexpr std::int64_t early_ns = 1;
  static constexpr std::int64_t renewal_ns = 15'000'000'000;

  void reach(World world) {
    std::size_t in_flight = 0;
    for (std::size_t i = 0; i < world.clients.size(); ++i) {
      world.clients[i].check_promise(world.server);
      note(world, world.clients[i].failure());
      resumed_ = std::max(resumed_, world.clients[i].resumed());
      note(world, world.server.failure());
      in_flight += world.server.peer(i).in.size() + world.server.peer(i).out.size();
    }
    most_in_flight_ = std::max(most_in_flight_, in_flight);
    if (seen_.insert(world.hash()).second) to_do_.push_back(std::move(world));
  }

  void note(const World& world, const std::string& failure) {
    if (failure_.empty() && !failure.empty()) failure_ = failure + ", after" + world.steps;
  }

  // `step` says whether anything changed.
  template <typename Step>
  void attempt(const World& world, const std::string& name, const Step& step) {
    World next = world;
    if (!step(next)) return;
    ++moves_;
    next.steps += name;
    reach(std::move(next));
  }

  void step_all(const World& world) {
    const std::size_t before = moves_;
    for (std::size_t i = 0; i < world.clients.size(); ++i) step_one(world, i);
    if (moves_ == before) end(world);
    for (std::size_t i = 0; i < world.clients.size(); ++i) disturb(world, i);
    if (world.left.ended_leases > 0 && world.server.holder() != nullptr) {
      attempt(world, " lease-ends", [](World& w) {
        --w.left.ended_leases;
        w.server.expire();
        return true;
      });
    }
  }

  void step_one(const World& world, std::size_t i) {
    const std::string who = " " + std::to_string(i) + ":";
    for (std::size_t thread = 0; thread < world.clients[i].thread_count(); ++thread) {
      attempt(world, who + "step" + name_of(thread),
              [=](World& w) { return w.clients[i].step(w.server, thread, early_ns); });
    }
    attempt(world, who + "tick", [i](World& w) { return w.clients[i].tick(w.server, early_ns); });
    attempt(world, who + "hears",
            [i](World& w) { return w.clients[i].deliver(w.server, early_ns); });
    attempt(world, who + "hears-of-loss", [i](World& w) { return w.clients[i].hear_of_loss(); });
    attempt(world, who + "hears-straggler",
            [i](World& w) { return w.clients[i].take_straggler(early_ns); });
    if (world.server.peer(i).in.empty()) return;
    attempt(world, who + "served", [i](World& w) {
      w.server.serve(i);
      return true;
    });
  }

  // Empty for the only thread of most clients.
  static std::string name_of(std::size_t thread) {
    return thread == 0 ? "" : "'" + std::to_string(thread);
  }

  void disturb_thread(const World& world, std::size_t i, std::size_t thread) {
    const std::string who = " " + std::to_string(i) + ":";
    if (world.left.time_outs > 0) {
      attempt(world, who + "time-out" + name_of(thread), [=](World& w) {
        --w.left.time_outs;
        return w.clients[i].time_out(w.server, thread);
      });
    }
    if (world.left.losses > 0) {
      attempt(world, who + "step-cut" + name_of(thread), [=](World& w) {
        --w.left.losses;
        return w.clients[i].step(w.server, thread, early_ns, true);
      });
    }
  }

  // Events that need not happen.
  void disturb(const World& world, std::size_t i) {
    const std::string who = " " + std::to_string(i) + ":";
    for (std::size_t thread = 0; thread < world.clients[i].thread_count(); ++thread) {
      disturb_thread(world, i, thread);
    }
    for (const bool ends_session : {false, true}) {
      attempt(world, who + (ends_session ? "loss-of-session" : "loss"),
              [i, ends_session](World& w) { return lose(w, i, ends_session); });
    }
    if (world.left.renewals > 0) {
      attempt(world, who + "renewal", [i](World& w) {
        --w.left.renewals;
        return w.clients[i].tick(w.server, renewal_ns);
      });
    }
    if (world.left.shortages > 0 && world.clients[i].has_effects()) {
      attempt(world, who + "no-memory", [i](World& w) {
        --w.left.shortages;
        w.clients[i].lack_memory();
        return true;
      });
    }
  }

  static bool lose(World& w, std::size_t i, bool ends_session) {
    int& left = ends_session ? w.left.ended_sessions : w.left.losses;
    if (left == 0 || !w.server.peer(i).is_connected) return false;
    --left;
    w.clients[i].lose(w.server, ends_session);
    return true;
  }

  // Nothing more happens by itself: nobody waits, and the server holds no lock for anybody.
  void end(const World& world) {
    ++ends_;
    World last = world;
    for (std::size_t i = 0; i < last.clients.size(); ++i) {
      const Server::Peer& peer = last.server.peer(i);
      if (peer.is_connected || peer.session == 0) continue;
      last.server.lose(i, true);  // the session was silent for a lease
      reach(std::move(last));
      return;
    }
    for (Client& client : last.clients) {
      if (!client.keeps_grant()) continue;
      if (!last.server.queue().empty()) note(last, "a recall of a kept grant was not answered");
      if (!client.tick(last.server, renewal_ns)) continue;
      reach(std::move(last));  // the grant was unused for long
      return;
    }
    const Server::Holder* const holder = last.server.holder();
    if (holder != nullptr && last.clients[holder->peer].heard_fence() < holder->fence) {
      last.server.expire();
      reach(std::move(last));
      return;
    }
    note(last, check_ends(last.server, last.clients));
  }

  std::unordered_set<std::uint64_t> seen_;
  std::vector<World> to_do_;
  std::size_t moves_ = 0;
  std::size_t ends_ = 0;
  std::size_t most_in_flight_ = 0;
  std::uint64_t resumed_ = 0;
  std::string failure_;
};

// Sanitizers and emulators take minutes for a million worlds. There, nothing is lost or given up in
// long walks: of clients that reopen, have two threads, keep grants, or have more than three jobs.
// In the other walks, each of these happens at most once.
#ifdef IW_WALKS_ARE_SHORT
constexpr bool are_walks_short = true;
#else
constexpr bool are_walks_short = false;
#endif

bool is_long(const std::vector<Program>& programs, const Budget& budget) {
  std::size_t jobs = 0;
  bool has_threads_or_reopens = false;
  for (const Program& program : programs) {
    has_threads_or_reopens = has_threads_or_reopens || program.size() > 1;
    for (const Jobs& thread : program) {
      jobs += thread.size();
      has_threads_or_reopens = has_threads_or_reopens ||
                               std::find(thread.begin(), thread.end(), Job::reopen) != thread.end();
    }
  }
  return jobs > 3 || has_threads_or_reopens || budget.keeps_after > 0;
}

Budget shortened(const std::vector<Program>& programs, Budget budget) {
  const int most = is_long(programs, budget) ? 0 : 1;
  for (int* const count : {&budget.time_outs, &budget.losses, &budget.ended_sessions,
                           &budget.ended_leases, &budget.renewals, &budget.shortages}) {
    *count = std::min(*count, most);
  }
  return budget;
}

void expect_good_of(const std::vector<Program>& programs, const Budget& budget) {
  const Walk walk(World(programs, are_walks_short ? shortened(programs, budget) : budget));
  std::printf("%zu worlds, %zu ends, at most %zu messages in flight\n", walk.worlds(), walk.ends(),
              walk.most_in_flight());
  EXPECT_EQ(walk.failure(), "");
  EXPECT_GT(walk.ends(), 0u);
  EXPECT_EQ(walk.resumed() > 0, budget.keeps_after > 0);
}

// Clients with one thread each.
void expect_good(const std::vector<Jobs>& clients, const Budget& budget) {
  std::vector<Program> programs;
  for (const Jobs& jobs : clients) programs.push_back({jobs});
  expect_good_of(programs, budget);
}

constexpr Job write = Job::write;
constexpr Job abort_it = Job::write_and_abort;
constexpr Job read = Job::read;
constexpr Job read_strict = Job::read_strict;
constexpr Job listen = Job::listen;
constexpr Job be_deaf = Job::be_deaf;
constexpr Job reopen = Job::reopen;

TEST(ConversationOrders, Lock1HoldsForThreeWritersWhoseRequestsAreGivenUp) {
  expect_good({{write}, {write, write}, {abort_it}}, {.time_outs = 2});
}

TEST(ConversationOrders, ALateGrantIsGivenBackInAllOrdersOfTwoTimeOuts) {
  expect_good({{write, write, write}, {write}}, {.time_outs = 2, .shortages = 1});
}

TEST(ConversationOrders, ALateGrantIsGivenBackAlsoOverALostConnection) {
  expect_good({{write, write}, {write}}, {.time_outs = 2, .losses = 1});
}

TEST(ConversationOrders, Lock8And9AReleaseIsCommittedOnceOverLostConnections) {
  expect_good({{write, write}, {write}}, {.losses = 2});
}

TEST(ConversationOrders, Conn4AReleaseOfAnEndedSessionIsNotRepeated) {
  expect_good({{write, write}, {write}}, {.losses = 1, .ended_sessions = 1});
}

TEST(ConversationOrders, Ses2AResumedSessionKeepsNoLockForNobody) {
  expect_good({{abort_it, read}, {write}}, {.losses = 2});
}

TEST(ConversationOrders, Lock5TheWriterHearsOfTheEndOfItsLease) {
  expect_good({{write, write}, {write}}, {.time_outs = 1, .ended_leases = 1, .renewals = 1});
}

TEST(ConversationOrders, Lock11AStrictLockIsGivenBackInAllOrders) {
  expect_good({{read_strict, read_strict}, {write}, {read_strict}},
              {.time_outs = 1, .shortages = 1});
}

TEST(ConversationOrders, Lock11AStrictLockIsGivenBackAlsoOverALostConnection) {
  expect_good({{read_strict, read_strict}, {write}}, {.time_outs = 1, .losses = 1});
}

TEST(ConversationOrders, Not4PushedBytesAreCreditedOnceInAllOrders) {
  expect_good({{read, listen, read, be_deaf, read}, {write, write}}, {.shortages = 1});
}

TEST(ConversationOrders, Poll1TheServerWatchesForNobodyInAllOrdersWithoutMemory) {
  expect_good({{read, listen, be_deaf, listen, be_deaf}, {write}}, {.shortages = 2});
}

TEST(ConversationOrders, Not5NothingIsPromisedOverALostConnection) {
  expect_good({{read, listen, read}, {write, write}}, {.losses = 1});
}

TEST(ConversationOrders, Open2NothingOvertakesACloseInAllOrders) {
  expect_good({{read, listen, reopen, listen, be_deaf, read}, {write, write}}, {.shortages = 2});
}

TEST(ConversationOrders, Open2NothingOvertakesACloseOverALostConnection) {
  expect_good({{read, listen, reopen, listen, read}, {write}}, {.losses = 1, .shortages = 1});
}

TEST(ConversationOrders, Open2LocksEndWithTheirOpeningInAllOrders) {
  expect_good({{write, reopen, read_strict, reopen, abort_it}, {write}},
              {.time_outs = 1, .losses = 1});
}

TEST(ConversationOrders, Open2LocksEndWithTheirOpeningOverLostConnections) {
  expect_good({{abort_it, reopen, read_strict, write}},
              {.time_outs = 1, .losses = 2, .ended_sessions = 1, .shortages = 1});
}

TEST(ConversationOrders, Proc1And2HoldInAllOrdersOfTwoThreads) {
  expect_good_of({{{write, read}, {read, read_strict}}, {{write}}}, {.time_outs = 2});
}

TEST(ConversationOrders, Proc1And2HoldInAllOrdersOfTwoThreadsOverALostConnection) {
  expect_good_of({{{write}, {read_strict}}, {{write}}}, {.time_outs = 1, .losses = 1});
}

TEST(ConversationOrders, Proc1TwoWritersOfAClientAreGrantedInAllOrders) {
  expect_good_of({{{write, abort_it}, {write}}, {{write}}}, {.time_outs = 1, .losses = 1});
}

TEST(ConversationOrders, Lock11TwoStrictReadersShareTheServersLockInAllOrders) {
  expect_good_of({{{read_strict, read_strict}, {read_strict}}, {{write}}},
                 {.time_outs = 1, .losses = 1, .shortages = 1});
}

TEST(ConversationOrders, Not4And5HoldInAllOrdersOfTwoThreads) {
  expect_good_of({{{listen, read}, {read}}, {{write}}}, {.losses = 1});
}

TEST(ConversationOrders, Open1TwoThreadsReopenInAllOrders) {
  expect_good_of({{{listen, reopen, read}, {reopen, write}}}, {.losses = 1, .shortages = 1});
}

TEST(ConversationOrders, Open1TwoThreadsReopenWhileTheyGiveUpInAllOrders) {
  expect_good_of({{{read_strict, reopen}, {write, reopen}}},
                 {.time_outs = 2, .losses = 1, .ended_sessions = 1});
}

TEST(ConversationOrders, Lock13To15AKeptGrantIsRecalledInAllOrders) {
  expect_good({{write, write, abort_it}, {write, write}}, {.keeps_after = 1});
}

TEST(ConversationOrders, Lock13To15AKeptGrantIsRecalledWhileRequestsAreGivenUp) {
  expect_good({{write, write}, {write, abort_it}}, {.time_outs = 2, .keeps_after = 1});
}

TEST(ConversationOrders, Lock13To15AKeptGrantIsRecalledWithoutMemory) {
  expect_good({{write, write, write}, {write}}, {.shortages = 2, .keeps_after = 1});
}

TEST(ConversationOrders, Lock16AKeptGrantEndsWithItsConnectionInAllOrders) {
  expect_good({{write, write}, {write}}, {.losses = 2, .keeps_after = 1});
}

TEST(ConversationOrders, Lock16AKeptGrantEndsWithItsSessionInAllOrders) {
  expect_good({{write, write}, {write}}, {.losses = 1, .ended_sessions = 1, .keeps_after = 1});
}

TEST(ConversationOrders, Lock15AKeptGrantEndsWithItsLeaseInAllOrders) {
  expect_good({{write, write}, {write}}, {.ended_leases = 1, .renewals = 2, .keeps_after = 1});
}

TEST(ConversationOrders, Lock15AStrictReaderRecallsAKeptGrantInAllOrders) {
  expect_good({{write, write, read_strict}, {read_strict}}, {.time_outs = 1, .keeps_after = 1});
}

TEST(ConversationOrders, Lock13AKeptGrantEndsWithItsOpeningInAllOrders) {
  expect_good({{write, reopen, write, write}, {write}}, {.losses = 1, .keeps_after = 1});
}

TEST(ConversationOrders, Proc1AKeptGrantServesTwoThreadsInAllOrders) {
  expect_good_of({{{write, abort_it}, {write}}, {{write}}}, {.losses = 1, .keeps_after = 1});
}

}  // namespace
}  // namespace iw::session::model
