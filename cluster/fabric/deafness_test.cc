// A worker whose queue in shared memory has a hole hears nobody. It takes another transport when
// the process that left the hole has died [UCX-12].

#include <atomic>
#include <thread>

#include "fabric/fabric_fixture.h"
#include "testing/queues.h"

using namespace iw::fabric_tests;
using iw::testing::next_place_of;
using iw::testing::own_queues;

// Does what its parent says, word by word.
ROLE(speaks_to_the_deaf) {
  const Process here;
  std::atomic<int> lost{0};
  here.worker->on_death([&](PeerId) { lost++; });
  parent.say_value(here.worker->address());
  const auto host = parent.hear_value<Address>();
  PeerId peer = 0;
  for (;;) {
    const std::string order = parent.hear_text();
    Status status = Status::ok;
    if (order == "connect") status = here.worker->connect(host, soon(), &peer);
    if (order == "send") status = here.worker->send(peer, 0, {}, {}, nullptr);
    if (order == "lose") status = here.worker->wait([&] { return lost > 0; }, soon());
    if (order == "end") return 0;
    parent.say(to_string(status));
  }
}

class Deafness : public OverTransports {
 protected:
  struct Speaker : Child {
    explicit Speaker(const Process& host) : Child("speaks_to_the_deaf") {
      address = line().hear_value<Address>();
      line().say_value(host.worker->address());
    }
    std::string obey(const std::string& order) const {
      line().say(order);
      return line().hear_text();
    }
    void connect_and_send() const {
      EXPECT_EQ(obey("connect"), "ok");
      EXPECT_EQ(obey("send"), "ok");
    }
    Address address;
  };

  Deafness() {
    here_.worker->on_death([this](PeerId) { lost_++; });
    here_.worker->set_handler(
        0, [](void* self, const Message&) { static_cast<Deafness*>(self)->heard_++; }, this);
  }
  static void leave_a_hole() {
    const auto queues = own_queues();
    ASSERT_EQ(queues.size(), 1u) << "the layout is not that of UCX 1.13";
    iw::testing::leave_a_hole(queues[0]);
  }
  template <typename Condition>
  void expect(Condition condition) {
    EXPECT_EQ(here_.worker->wait(condition, soon()), Status::ok);
  }

  std::atomic<int> heard_{0}, lost_{0};
  Process here_;
};
OVER_TRANSPORTS(Deafness, "shm", "auto");

// [HELLO-12]
TEST_P(Deafness, EndsWhenWhoCausedItDies) {
  const Speaker known(here_);
  Speaker victim(here_);
  EXPECT_EQ(victim.obey("connect"), "ok");
  known.connect_and_send();
  const PeerId own = here_.connect(here_.worker->address());
  expect([&] { return heard_ == 1; });
  leave_a_hole();
  victim.kill();
  EXPECT_EQ(known.obey("lose"), "ok");
  expect([&] { return lost_ == 2; });
  known.connect_and_send();
  expect([&] { return heard_ == 2; });
  const Speaker newcomer(here_);
  newcomer.connect_and_send();
  expect([&] { return heard_ == 3; });
  EXPECT_TRUE(here_.worker->is_alive(own));
  EXPECT_EQ(here_.worker->send(own, 0, {}, {}, nullptr), Status::ok);
  expect([&] { return heard_ == 4; });
  EXPECT_EQ(lost_, 2);
}

// [HELLO-12] The newcomer's hello is behind the hole.
TEST_P(Deafness, LeavesNobodyBehindWhoHasBegunToConnect) {
  Speaker victim(here_);
  victim.connect_and_send();
  expect([&] { return heard_ == 1; });
  leave_a_hole();
  const auto place = next_place_of(own_queues().at(0));
  const std::uint64_t behind_the_hole = place;
  const Speaker newcomer(here_);
  newcomer.line().say("connect");
  while (place == behind_the_hole) std::this_thread::yield();
  victim.kill();
  EXPECT_EQ(newcomer.line().hear_text(), "ok");
  EXPECT_EQ(newcomer.obey("send"), "ok");
  expect([&] { return heard_ == 2; });
}

// The answers are behind the hole.
TEST_P(Deafness, DelaysACallOfTheDeaf) {
  Speaker victim(here_);
  victim.connect_and_send();
  expect([&] { return heard_ == 1; });
  leave_a_hole();
  const Speaker called(here_);
  victim.kill();
  const PeerId peer = here_.connect(called.address);
  EXPECT_TRUE(here_.worker->is_alive(peer));
  called.connect_and_send();
  expect([&] { return heard_ == 2; });
}

// A worker that can be armed hears.
TEST_P(Deafness, IsNotFoundWhereThereIsNone) {
  const Speaker known(here_);
  known.connect_and_send();
  for (int deaths = 1; deaths <= 3; deaths++) {
    Speaker victim(here_);
    victim.connect_and_send();
    victim.kill();
    expect([&] { return lost_ == deaths; });
    while (!here_.worker->arm()) here_.worker->progress();
  }
  EXPECT_EQ(own_queues().size(), 1u) << "it took another transport";
  EXPECT_EQ(known.obey("send"), "ok");
  expect([&] { return heard_ == 5; });
  EXPECT_EQ(lost_, 3);
}
