// Servers of two sites with real processes: they go where the load is, belong to one site each, and
// a dead one's place is taken back.
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "space/test_space.h"
#include "two_sites/manager.h"
#include "two_sites/server.h"

namespace two_sites {
namespace {

using iw::testing::Child;
using services::Segment;
using services::Space;

constexpr std::uint64_t plenty = 1'000'000'000;
constexpr char over_name[] = "test: servers end";

void rest() { poll(nullptr, 0, 1); }

template <typename Condition>
void await(const Condition& is_so) {
  const auto deadline = std::chrono::steady_clock::now() + iw::testing::patience;
  for (; !is_so(); rest()) ASSERT_LT(std::chrono::steady_clock::now(), deadline);
}

// What a server took requests of: the site for each count of its place's moves, or "2" for two.
using History = std::map<std::uint64_t, std::string>;

std::string text_of(const History& history) {
  std::ostringstream text;
  for (const auto& [moves, site] : history) text << moves << ' ' << site << ' ';
  return text.str();
}

struct Ended {
  std::uint64_t served;
  std::string history;
};

struct Event {
  std::string kind;
  std::size_t place;
  std::uint64_t moves;
  std::string site;
};

Event hear_event(const Child& manager) {
  std::istringstream text(manager.line().hear_text());
  Event event;
  text >> event.kind >> event.place >> event.moves >> event.site;
  return event;
}

std::map<std::string, int> servers_of(const Shared& shared) {
  std::map<std::string, int> counts;
  for (std::size_t i = 0; i < places_max; i++) {
    const Place place = shared.place(i).get();
    if (place.server != 0) counts[name_of(place.site)]++;
  }
  return counts;
}

// Whether each server's last request was of the site that it belongs to.
bool do_all_obey(const Shared& shared) {
  for (std::size_t i = 0; i < places_max; i++) {
    const Place place = shared.place(i).get();
    if (place.server != 0 && Segment<LoadRecord>(place.record).get().site != place.site) {
      return false;
    }
  }
  return true;
}

// Looks at all places again and again: no server has two, and each belongs to a site.
class Watcher {
 public:
  explicit Watcher(const Shared& shared)
      : thread_([this, &shared] {
          while (!is_over_) look(shared);
        }) {}
  ~Watcher() {
    is_over_ = true;
    thread_.join();
  }

 private:
  static void look(const Shared& shared) {
    std::set<std::uint64_t> seen;
    for (std::size_t i = 0; i < places_max; i++) {
      const Place place = shared.place(i).get();
      if (place.server == 0) continue;
      EXPECT_TRUE(seen.insert(place.server).second) << "a server in two places";
      EXPECT_TRUE(place.site == Site::kA || place.site == Site::kB);
    }
    std::this_thread::yield();
  }
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

}  // namespace

ROLE(site_manager) {
  const Space space = Space::found();
  const Shared shared;
  Manager manager(shared);
  const auto over = Segment<std::uint64_t>::named(over_name, DDSS_NULL);
  parent.say(std::string(ddss_address()));
  for (; over.get() != 2; rest()) {
    for (const Change& change : manager.look()) {
      std::ostringstream text;
      text << (change.kind == Change::Kind::kMoved ? "moved " : "lost ") << change.place << ' '
           << change.moves << ' ' << name_of(change.site);
      parent.say(text.str());
    }
  }
  return 0;
}

ROLE(site_server) {
  const Space space = Space::join(parent.hear_text());
  const Site site = parent.hear_text() == "A" ? Site::kA : Site::kB;
  const Shared shared;
  const auto over = Segment<std::uint64_t>::named(over_name, DDSS_NULL);
  Server server(shared, site);
  parent.say_value(server.place());
  History history;
  std::uint64_t served = 0;
  while (over.get() == 0) {
    const auto one = server.serve_one(0);
    if (!one) {
      rest();
      continue;
    }
    served++;
    const auto [entry, is_new] = history.try_emplace(one->moves, name_of(one->site));
    if (!is_new && entry->second != name_of(one->site)) entry->second = "2";
  }
  parent.say_value(served);
  parent.say(text_of(history));
  return 0;
}

class TwoSites : public ::testing::Test {
 protected:
  TwoSites() : address_(manager_.line().hear_text()), space_(Space::join(address_)) {}
  // Returns its place.
  std::size_t add_server(const char* site) {
    Child& child = servers_.emplace_back("site_server");
    child.line().say(address_);
    child.line().say(std::string(site));
    return child.line().hear_value<std::size_t>();
  }
  // Of those that were not killed, in the order of their coming.
  std::vector<Ended> end_servers() {
    over_.put(1);
    std::vector<Ended> all;
    for (Child& server : servers_) {
      if (server.pid() < 0) continue;
      const auto served = server.line().hear_value<std::uint64_t>();
      all.push_back({served, server.line().hear_text()});
      EXPECT_EQ(server.wait_for_end(), 0);
    }
    return all;
  }
  void end_manager() {
    over_.put(2);
    EXPECT_EQ(manager_.wait_for_end(), 0);
  }

  Child manager_{"site_manager"};
  const std::string address_;
  const Space space_;
  const Shared shared_;
  const Segment<std::uint64_t> over_ = Segment<std::uint64_t>::named(over_name, DDSS_NULL);
  std::deque<Child> servers_;
};

TEST_F(TwoSites, ServersGoWhereTheLoadIsAndServeOneSiteAtATime) {
  std::map<std::size_t, History> assigned;  // by place: what the manager made of it
  for (const char* site : {"A", "B", "A", "B"}) assigned[add_server(site)][1] = site;
  std::optional<Watcher> watcher(std::in_place, shared_);
  const auto hear_moves = [&](int count, const char* to) {
    for (int i = 0; i < count; i++) {
      const Event event = hear_event(manager_);
      EXPECT_EQ(event.kind + event.site, std::string("moved") + to);
      assigned[event.place][event.moves] = event.site;
    }
    await([&] { return do_all_obey(shared_); });
  };
  shared_.add_requests(Site::kA, plenty);
  hear_moves(1, "A");
  EXPECT_EQ(servers_of(shared_), (std::map<std::string, int>{{"A", 3}, {"B", 1}}));
  shared_.cancel_requests(Site::kA);
  shared_.add_requests(Site::kB, plenty);
  hear_moves(2, "B");
  EXPECT_EQ(servers_of(shared_), (std::map<std::string, int>{{"A", 1}, {"B", 3}}));
  const auto ended = end_servers();
  for (std::size_t i = 0; i < ended.size(); i++) {
    std::istringstream text(ended[i].history);
    std::uint64_t moves = 0;
    for (std::string site; text >> moves >> site;) EXPECT_EQ(site, assigned[i][moves]) << moves;
  }
  EXPECT_TRUE(servers_of(shared_).empty()) << "who ends gives its place back";
  watcher.reset();
  end_manager();
}

TEST_F(TwoSites, AKilledServerIsNoticedAndItsPlaceTakenByTheNext) {
  for (const char* site : {"A", "B", "B"}) add_server(site);
  shared_.add_requests(Site::kA, plenty);
  EXPECT_EQ(hear_event(manager_).kind, "moved");
  servers_[0].kill();  // while it works: it may hold the lock of its place, or of the queue
  const Event lost = hear_event(manager_);
  EXPECT_EQ(lost.kind, "lost");
  EXPECT_EQ(lost.place, 0u);
  EXPECT_EQ(shared_.place(0).get().server, 0u);
  const std::uint64_t taken = shared_.queue(Site::kA).get().taken;
  EXPECT_EQ(add_server("A"), lost.place);
  await([&] { return shared_.queue(Site::kA).get().taken >= taken + 10; });
  end_servers();
  end_manager();
}

TEST_F(TwoSites, EachRequestIsTakenOnce) {
  for (int i = 0; i < 3; i++) add_server("A");
  constexpr std::uint64_t count = 5000;
  shared_.add_requests(Site::kA, count);
  await([&] { return shared_.queue(Site::kA).get().waiting() == 0; });
  std::uint64_t served = 0;
  for (const Ended& server : end_servers()) served += server.served;
  EXPECT_EQ(served, count);
  end_manager();
}

}  // namespace two_sites
