// What a process sent before it ended arrives, also where its end is known first.
#include <atomic>

#include "fabric/fabric_fixture.h"

using namespace iw::fabric_tests;

namespace {

constexpr int messages = 40;  // fewer than any transport keeps for one that does not look

struct Counting : Completion {
  Counting() {
    done = [](Completion& self, Status) { static_cast<Counting&>(self).left--; };
  }
  int left = 0;
};

}  // namespace

// Sends to the first of two workers when told, and ends in order when told again.
ROLE(last_words) {
  const Process here;
  const PeerId first = here.connect(parent.hear_value<Address>());
  here.connect(parent.hear_value<Address>());
  parent.say("connected");
  parent.hear();
  Counting counting;
  for (int i = 0; i < messages; i++) {
    const Status sent = here.worker->send(first, 0, {}, std::as_bytes(std::span(&i, 1)), &counting);
    if (sent != Status::ok && sent != Status::pending) return 1;
    counting.left += sent == Status::pending;
  }
  here.worker->wait([&] { return counting.left == 0; }, soon());
  parent.say("sent");
  parent.hear();
  return counting.left == 0 ? 0 : 2;
}

class LastWords : public OverTransports {
 protected:
  LastWords() {
    Status status;
    other_ = here_.fabric->add_worker(&status);
    here_.worker->set_handler(
        0, [](void* self, const Message&) { static_cast<LastWords*>(self)->arrived_++; }, this);
    here_.worker->on_death([this](PeerId) { is_dead_ = true; });
    other_->on_death([this](PeerId) { is_known_dead_ = true; });
    child_.line().say_value(here_.worker->address());
    child_.line().say_value(other_->address());
    EXPECT_EQ(child_.line().hear_text(), "connected");
  }
  // Of this process's workers the one that is sent to is busy until the other has heard of the end.
  template <typename End>
  void hear_last_words(End end) {
    {
      const Exclusion busy(*here_.worker);
      child_.line().say("go");
      EXPECT_EQ(child_.line().hear_text(), "sent");
      end();
      EXPECT_EQ(other_->wait([&] { return is_known_dead_.load(); }, soon()), Status::ok);
    }
    EXPECT_EQ(here_.worker->wait([&] { return is_dead_.load(); }, soon()), Status::ok);
    EXPECT_EQ(arrived_, messages);
  }

  std::atomic<int> arrived_{0};
  std::atomic<bool> is_dead_{false}, is_known_dead_{false};
  Process here_;
  std::unique_ptr<Worker> other_;
  Child child_{"last_words"};
};
OVER_TRANSPORTS(LastWords, "shm", "tcp");

TEST_P(LastWords, OfOneThatEndsInOrderAreHeard) {
  hear_last_words([&] {
    child_.line().say("end");
    EXPECT_EQ(child_.wait_for_end(), 0);
  });
}

TEST_P(LastWords, OfOneThatIsKilledAreHeard) {
  hear_last_words([&] { child_.kill(); });
}
