// A worker that is polled now and then answers others between those polls, by the service.
#include "fabric/leave.h"

#include <atomic>

#include "fabric/fabric_fixture.h"

using namespace iw::fabric_tests;
using namespace std::chrono_literals;

namespace {

constexpr Deadline begin{1h};

// A program polls once in each period. How long a message waits at most before the service looks,
// counted from when the program has done so for a while.
Clock::duration longest_wait(std::chrono::microseconds period) {
  Leave leave;
  Clock::duration longest{0};
  for (int poll = 0; poll < 1000; poll++) {
    const Deadline polled = begin + poll * period;
    // The service looks when the leave is over; it finds the poll, or has found all.
    Deadline now = std::max(polled, leave.until());
    for (bool has_moved = true; now < polled + period; now = leave.until()) {
      if (has_moved) leave.prolong(now);
      if (!has_moved) leave.end();
      if (!has_moved) break;
      has_moved = false;
    }
    if (poll > 500) longest = std::max(longest, std::min(now, polled + period) - polled);
  }
  return longest;
}

}  // namespace

TEST(Leave, IsShortForAWorkerThatIsPolledNowAndThen) {
  for (const auto period : {200us, 300us, 1000us, 5000us, 100'000us}) {
    EXPECT_EQ(longest_wait(period), Leave::shortest) << period.count();
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
  EXPECT_LT(looks, 110);
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
  constexpr int calls = 300;
  constexpr auto work = 300us;
  for (int i = 0; i < calls; i++) {
    std::uint64_t word = 0;
    const auto to = std::as_writable_bytes(std::span(&word, 1));
    ASSERT_EQ(here.worker->get(*seen.window, 0, to, soon()), Status::ok);
    for (const Deadline until = Clock::now() + work; Clock::now() < until;) {
    }
  }
  asked.is_enough = true;
  EXPECT_EQ(child.wait_for_end(), 0);
  EXPECT_GT(asked.by_service, 0);
  RecordProperty("by_service", asked.by_service);
}
