// A worker that is polled now and then answers others between those polls, by the service.
#include "fabric/leave.h"

#include <atomic>

#include "fabric/fabric_fixture.h"

using namespace iw::fabric_tests;
using namespace std::chrono_literals;

namespace {

constexpr Deadline begin{1h};

// The service and a program. The program polls all the time at first, as while it sets up its
// segments, and then once in each period. The service looks at the worker when its watch or leave
// is over, and at each poll while it sleeps.
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

  // The looks of one period. A look after the poll serves what comes, unless it begins a leave.
  Deadline served_after(Deadline polled) {
    if (look_ == Deadline::max()) look_ = polled;
    Deadline served = Deadline::max();
    while (look_ < polled + period_) {
      const Deadline now = look_;
      const Polled how = is_polled(last_look_, now) ? Polled::in_waits : Polled::no;
      const bool is_served = leave_.look(now, how);
      if (is_served) leave_.note_served();
      if (is_served && now >= polled) served = std::min(served, now);
      last_look_ = now;
      look_ = leave_.until();
    }
    return served;
  }

  bool is_polled(Deadline after, Deadline until) const {
    if (after < busy_until) return true;
    return (until - busy_until) / period_ > (after - busy_until) / period_;
  }

  const std::chrono::microseconds period_;
  Leave leave_;
  Deadline look_ = begin, last_look_ = begin - 1ns;
};

}  // namespace

TEST(Leave, IsNotTakenFromAWorkerThatIsPolledNowAndThen) {
  for (auto period = 100us; period <= 10ms; period += 7us) {
    ASSERT_EQ(Course(period).longest_wait(200, 1000), 0us) << period.count();
  }
}

TEST(Leave, GrowsWhileTheWorkerIsPolledAllTheTime) {
  Leave leave;
  Deadline now = begin;
  Clock::duration left{0};
  int looks = 0;
  for (; now < begin + 100ms; now = leave.until()) {
    if (!leave.look(now, Polled::in_waits)) left += leave.until() - now;
    looks++;
  }
  EXPECT_LT(looks, 240);
  EXPECT_GT(left, 90ms);
}

TEST(Leave, EndsInAWatchInWhichAWorkerIsServedThatWasWaitedOn) {
  Leave leave;
  EXPECT_TRUE(leave.look(begin, Polled::in_waits));
  EXPECT_FALSE(leave.is_on(begin));
  EXPECT_EQ(leave.until(), begin + Leave::shortest);
  EXPECT_FALSE(leave.look(begin + 1us, Polled::in_waits));
  const Deadline over = leave.until();
  EXPECT_TRUE(leave.is_on(over - 1ns));
  EXPECT_FALSE(leave.is_on(over));
  EXPECT_TRUE(leave.look(over, Polled::in_waits));
  EXPECT_FALSE(leave.is_on(over));
  EXPECT_TRUE(leave.look(leave.until(), Polled::no));
  EXPECT_EQ(leave.until(), Deadline::max());
}

// Else the service would take messages from a program that is about to poll for them.
TEST(Leave, BeginsAtOnceForAWorkerThatTheProgramPolls) {
  Leave leave;
  EXPECT_FALSE(leave.look(begin, Polled::by_program));
  const Deadline over = begin + Leave::shortest;
  EXPECT_EQ(leave.until(), over);
  EXPECT_TRUE(leave.is_on(over - 1ns));
  EXPECT_TRUE(leave.look(over, Polled::no));
  EXPECT_EQ(leave.until(), Deadline::max());
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
  // With work the service answers most, and many in the time of one call. If it left the worker
  // alone after each call, the call would answer the one request that has waited for it.
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
