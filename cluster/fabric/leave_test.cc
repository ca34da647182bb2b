// A worker that is polled now and then answers others between those polls, by the service.
#include "fabric/leave.h"

#include <atomic>

#include "fabric/fabric_fixture.h"

using namespace iw::fabric_tests;
using namespace std::chrono_literals;

namespace {

constexpr Deadline begin{1h};

// The service and a program. The program polls all the time at first, as while it sets up its
// segments, and then once in each period. The service looks at the worker when its leave is over,
// and at each poll while it sleeps.
class Course {
 public:
  explicit Course(std::chrono::microseconds period) : period_(period) {}

  // The longest time in these periods from a poll until the service handles what comes after it.
  // The next poll handles what the service does not.
  Clock::duration longest_wait(int from, int to) {
    Clock::duration longest{0};
    for (int i = 0; i < to; i++) {
      const Deadline polled = busy_until + i * period_;
      const Clock::duration wait = served_after(polled) - polled;
      if (i >= from) longest = std::max(longest, std::min<Clock::duration>(wait, period_));
    }
    return longest;
  }

 private:
  static constexpr Deadline busy_until = begin + 50ms;

  Deadline served_after(Deadline polled) {
    if (is_asleep_) look_ = polled;
    is_asleep_ = false;
    while (!is_asleep_ && look_ < polled + period_) look();
    return is_asleep_ ? last_look_ : look_;
  }

  void look() {
    const Deadline now = look_;
    if (is_polled(last_look_, now)) {
      leave_.prolong(now);
      look_ = leave_.until();
    } else {
      leave_.end();
      is_asleep_ = true;
    }
    last_look_ = now;
  }

  bool is_polled(Deadline after, Deadline until) const {
    if (after < busy_until) return true;
    return (until - busy_until) / period_ > (after - busy_until) / period_;
  }

  const std::chrono::microseconds period_;
  Leave leave_;
  Deadline look_ = begin, last_look_ = begin - 1ns;
  bool is_asleep_ = false;
};

}  // namespace

TEST(Leave, IsShortForAWorkerThatIsPolledNowAndThen) {
  for (auto period = 100us; period <= 10ms; period += 7us) {
    ASSERT_EQ(Course(period).longest_wait(200, 1000), Leave::shortest) << period.count();
  }
}

TEST(Leave, GrowsWhileTheWorkerIsPolledAllTheTime) {
  Leave leave;
  Deadline now = begin;
  int looks = 0;
  for (; now < begin + 100ms; now = leave.until()) {
    leave.prolong(now);
    looks++;
  }
  EXPECT_LT(looks, 240);
  EXPECT_FALSE(leave.is_over(leave.until() - 1ns));
  EXPECT_TRUE(leave.is_over(leave.until()));
  leave.end();
  EXPECT_TRUE(leave.is_over(begin));
  leave.prolong(now);
  EXPECT_EQ(leave.until(), now + Leave::shortest);
}

// Asks again and again, until an answer says that it is enough.
ROLE(asks_again) {
  const Process here;
  std::atomic<int> answers{0};
  std::atomic<bool> is_enough{false};
  struct Heard {
    std::atomic<int>* answers;
    std::atomic<bool>* is_enough;
  } heard{&answers, &is_enough};
  here.worker->set_handler(
      1,
      [](void* context, const Message& message) {
        const auto& self = *static_cast<Heard*>(context);
        ++*self.answers;
        *self.is_enough = !message.header.empty();
      },
      &heard);
  Status status;
  const auto memory = here.fabric->allocate(4096, &status);
  const PeerId peer = here.connect(parent.hear_value<Address>());
  parent.say_value(here.worker->address());
  parent.say(memory->key());
  for (int asked = 0; !is_enough; asked++) {
    if (here.worker->send(peer, 0, {}, {}, nullptr) != Status::ok) return 1;
    const auto is_answered = [&] { return answers > asked; };
    if (here.worker->wait(is_answered, soon()) != Status::ok) return 2;
  }
  return 0;
}

class BetweenCalls : public OverTransports {};
OVER_TRANSPORTS(BetweenCalls, "tcp");

TEST_P(BetweenCalls, OthersAreAnswered) {
  const Process here;
  struct Asked {
    Worker* worker;
    std::atomic<int> by_service{0};
    std::atomic<bool> is_enough{false};
  } asked{here.worker.get()};
  here.worker->set_handler(
      0,
      [](void* context, const Message& message) {
        auto& self = *static_cast<Asked*>(context);
        if (message.by_service) self.by_service++;
        const std::byte one{1};
        const Bytes header = self.is_enough ? Bytes(&one, 1) : Bytes();
        self.worker->send(message.from, 1, header, {}, nullptr);
      },
      &asked);
  Child child("asks_again");
  child.line().say_value(here.worker->address());
  const Seen seen(child, here);
  const auto call = [&] {
    std::uint64_t word = 0;
    const auto to = std::as_writable_bytes(std::span(&word, 1));
    return here.worker->get(*seen.window, 0, to, soon());
  };
  // Without work between its calls it answers nearly all, and the service leaves it alone.
  constexpr auto busy = 20ms;
  for (const Deadline until = Clock::now() + busy; Clock::now() < until;) {
    ASSERT_EQ(call(), Status::ok);
  }
  // With work the service answers most, and many in the time of one call. If it kept leaving the
  // worker alone, each call would answer the one request that has waited for it.
  constexpr int enough = 2000, calls_max = 2 * enough;
  constexpr auto work = 300us;
  const int before = asked.by_service;
  int calls = 0;
  for (; asked.by_service - before < enough && calls < calls_max; calls++) {
    ASSERT_EQ(call(), Status::ok);
    for (const Deadline until = Clock::now() + work; Clock::now() < until;) {
    }
  }
  asked.is_enough = true;
  EXPECT_EQ(child.wait_for_end(), 0);
  EXPECT_LT(calls, calls_max);
  RecordProperty("calls", calls);
}
