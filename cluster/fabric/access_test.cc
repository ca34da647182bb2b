// Memory that is reached by asking its process: between real processes over TCP, and on shared
// memory with keys that do not let it be mapped.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <random>
#include <set>
#include <thread>

#include "fabric/access_messages.h"
#include "fabric/fabric_fixture.h"
#include "fabric/memory_key.h"
#include "testing/seed.h"

using namespace iw::fabric;
using namespace iw::fabric_tests;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t mebibyte = 1 << 20;
constexpr std::size_t held_bytes = 8 * mebibyte;

// Operations that were posted and nobody waits for one by one.
class Posted {
 public:
  explicit Posted(Worker& worker) : worker_(worker) {}
  // `post` is given the Completion.
  template <typename Post>
  void add(Post post) {
    One& one = all_.emplace_back();
    one.done = [](Completion& self, Status status) {
      static_cast<One&>(self).result = status;
      static_cast<One&>(self).times++;
    };
    const Status posted = post(&one);
    if (posted == Status::pending) return;
    one.result = posted;
    one.times++;
  }
  // Each was done exactly once, so far.
  bool are_all_done() const {
    for (const One& one : all_) {
      if (one.times == 0) return false;
    }
    return true;
  }
  Status wait() const {
    return worker_.wait([this] { return are_all_done(); }, soon());
  }
  std::vector<Status> results() const {
    std::vector<Status> results;
    for (const One& one : all_) {
      EXPECT_EQ(one.times, 1);
      results.push_back(one.result);
    }
    return results;
  }

 private:
  struct One : Completion {
    Status result = Status::pending;
    int times = 0;
  };
  Worker& worker_;
  std::deque<One> all_;
};

}  // namespace

// Without what the transport could reach the memory by.
static std::vector<std::byte> key_to_ask_with(Bytes key) {
  Bytes of_transport;
  return encode(*decode(key, &of_transport), {});
}

// Has memory that others ask for, unless they take the second key; its application thread waits
// for what the parent says.
ROLE(holder) {
  const Process process;
  Status status;
  auto memory = process.fabric->allocate(held_bytes, &status);
  parent.say_value(process.worker->address());
  parent.say(key_to_ask_with(memory->key()));
  parent.say(memory->key());
  while (parent.hear_text() == "free") {
    memory.reset();
    parent.say("freed");
  }
  return 0;
}

class AskedFor : public OverTransports {};
OVER_TRANSPORTS(AskedFor, "shm", "tcp");

// [FAB-6]
TEST_P(AskedFor, MoreThanMayBeUnderWayIsAllDone) {
  const Child holder("holder");
  const Process here;
  const Seen seen(holder, here);
  Worker& worker = *here.worker;
  ASSERT_FALSE(worker.is_onesided(Operation::get, *seen.window));
  constexpr std::size_t large = 3 * mebibyte + 5;
  const auto sent = pattern(large, 1);
  Posted posted(worker);
  for (const std::size_t at : {std::size_t{3}, held_bytes - large}) {
    posted.add([&](Completion* done) { return worker.put(*seen.window, at, sent, done); });
  }
  posted.add([&](Completion* done) { return worker.flush(seen.peer, done); });
  ASSERT_EQ(posted.wait(), Status::ok);
  std::deque<std::vector<std::byte>> got;
  std::vector<std::uint64_t> before(5000);
  constexpr std::size_t counter = 4 * mebibyte;
  for (int i = 0; i < 16; i++) {
    got.emplace_back(large);
    posted.add([&](Completion* done) { return worker.get(*seen.window, 3, got.back(), done); });
  }
  for (std::uint64_t& word : before) {
    posted.add(
        [&](Completion* done) { return worker.fetch_add(*seen.window, counter, 1, &word, done); });
  }
  ASSERT_EQ(posted.wait(), Status::ok);
  for (const Status result : posted.results()) EXPECT_EQ(result, Status::ok);
  for (const auto& each : got) EXPECT_EQ(each, sent);
  for (std::size_t i = 1; i < before.size(); i++) EXPECT_EQ(before[i], before[i - 1] + 1);
}

// [FAB-4]
TEST_P(AskedFor, AFlushIsOfPutsByAskingAndOfOthers) {
  const Child holder("holder");
  const Process here;
  const Seen seen(holder, here);
  Status status;
  const auto other = here.worker->open(seen.peer, holder.line().hear(), &status);
  ASSERT_EQ(status, Status::ok);
  const auto sent = pattern(mebibyte, 2);
  Posted posted(*here.worker);
  posted.add([&](Completion* done) { return here.worker->put(*seen.window, 0, sent, done); });
  posted.add([&](Completion* done) { return here.worker->put(*other, mebibyte, sent, done); });
  EXPECT_EQ(here.worker->flush(seen.peer, soon()), Status::ok);
  // Each as the other way sees it.
  std::vector<std::byte> got(mebibyte);
  EXPECT_EQ(here.worker->get(*other, 0, got, soon()), Status::ok);
  EXPECT_EQ(got, sent);
  EXPECT_EQ(here.worker->get(*seen.window, mebibyte, got, soon()), Status::ok);
  EXPECT_EQ(got, sent);
  EXPECT_EQ(posted.results(), std::vector(2, Status::ok));
}

TEST_P(AskedFor, OwnMemoryIsReachedAlsoInsideAHandler) {
  const Process here;
  Status status;
  std::vector<std::uint64_t> words(4096);
  const auto memory = here.fabric->attach(std::as_writable_bytes(std::span(words)), &status);
  const auto window = here.worker->open(here.connect(here.worker->address()),
                                        key_to_ask_with(memory->key()), &status);
  const auto sent = pattern(words.size() * sizeof words[0], 3);
  const Exclusion as_in_a_handler(*here.worker);
  EXPECT_EQ(here.worker->put(*window, 0, sent, nullptr), Status::ok);
  EXPECT_EQ(std::memcmp(words.data(), sent.data(), sent.size()), 0);
  std::uint64_t before = 0;
  EXPECT_EQ(here.worker->fetch_add(*window, 8, 1, &before, nullptr), Status::ok);
  EXPECT_EQ(words[1], before + 1);
}

// Adds with the key it is told.
ROLE(counter) {
  const Process process;
  const PeerId peer = process.connect(parent.hear_value<Address>());
  Status status;
  const auto window = process.worker->open(peer, parent.hear(), &status);
  const bool is_direct = window->direct() != nullptr;
  parent.say(is_direct ? "directly" : "by asking");
  parent.hear();
  return add_a_thousand(*process.worker, *window);
}

TEST_P(AskedFor, AWordIsChangedByOneAtATimeDirectlyAndByAsking) {
  const Child holder("holder");
  const auto address = holder.line().hear_value<Address>();
  const auto key_to_ask = holder.line().hear(), key_to_map = holder.line().hear();
  Child counters[] = {Child("counter"), Child("counter"), Child("counter")};
  int direct = 0;
  for (Child& counter : counters) {
    counter.line().say_value(address);
    counter.line().say(&counter == counters ? key_to_map : key_to_ask);
    direct += counter.line().hear_text() == "directly";
  }
  EXPECT_EQ(direct, is_over("shm") ? 1 : 0);
  for (Child& counter : counters) counter.line().say("go");
  for (Child& counter : counters) EXPECT_EQ(counter.wait_for_end(), 0);
  const Process here;
  Status status;
  const auto window = here.worker->open(here.connect(address), key_to_ask, &status);
  std::uint64_t sum = 0;
  EXPECT_EQ(here.worker->fetch_add(*window, 8, 0, &sum, soon()), Status::ok);
  EXPECT_EQ(sum, 3000u);
}

TEST_P(AskedFor, AStoppedTargetDoesAllWhenItGoesOn) {
  const Child holder("holder");
  const Process here;
  const Seen seen(holder, here);
  Worker& worker = *here.worker;
  std::vector<std::byte> forgotten(2 * mebibyte, std::byte{7}), got(mebibyte);
  const auto sent = pattern(mebibyte, 5);
  std::uint64_t before = 1;
  holder.stop();
  // Takes the room, and times out: its buffer is nobody's business any more.
  EXPECT_EQ(worker.get(*seen.window, 0, forgotten, Clock::now() + 20ms), Status::timed_out);
  Posted posted(worker);
  posted.add([&](Completion* done) { return worker.put(*seen.window, 0, sent, done); });
  posted.add([&](Completion* done) { return worker.flush(seen.peer, done); });
  posted.add([&](Completion* done) { return worker.get(*seen.window, 0, got, done); });
  posted.add([&](Completion* done) {
    return worker.fetch_add(*seen.window, 4 * mebibyte, 9, &before, done);
  });
  EXPECT_EQ(worker.wait([&] { return posted.are_all_done(); }, Clock::now() + 20ms),
            Status::timed_out);
  holder.go_on();
  ASSERT_EQ(posted.wait(), Status::ok);
  for (const Status result : posted.results()) EXPECT_EQ(result, Status::ok);
  EXPECT_EQ(got, sent);
  EXPECT_EQ(before, 0u);
  EXPECT_EQ(forgotten, std::vector(2 * mebibyte, std::byte{7}));
}

// [FAB-3]
TEST_P(AskedFor, ADeadTargetEndsEachOperationOnce) {
  Child holder("holder");
  const Process here;
  bool is_dead = false;
  here.worker->on_death([&](PeerId) { is_dead = true; });
  const Seen seen(holder, here);
  Worker& worker = *here.worker;
  const auto sent = pattern(mebibyte, 5);
  std::deque<std::vector<std::byte>> got;
  std::uint64_t before = 0;
  holder.stop();
  Posted posted(worker);
  for (int i = 0; i < 20; i++) {
    got.emplace_back(mebibyte);
    posted.add([&](Completion* done) { return worker.put(*seen.window, 0, sent, done); });
    posted.add([&](Completion* done) { return worker.get(*seen.window, 0, got.back(), done); });
    posted.add([&](Completion* done) {
      return worker.compare_swap(*seen.window, 0, 0, 1, &before, done);
    });
    posted.add([&](Completion* done) { return worker.flush(seen.peer, done); });
  }
  std::thread waiter([&] {
    EXPECT_EQ(worker.get(*seen.window, 0, std::span(got.front()).first(8), soon()),
              Status::peer_dead);
  });
  holder.kill();
  ASSERT_EQ(worker.wait([&] { return is_dead && posted.are_all_done(); }, soon()), Status::ok);
  waiter.join();
  int dead = 0;
  for (const Status result : posted.results()) {
    EXPECT_TRUE(result == Status::peer_dead || result == Status::ok) << to_string(result);
    dead += result == Status::peer_dead;
  }
  EXPECT_GE(dead, 60) << "what is answered cannot have been done";
}

TEST_P(AskedFor, WhatAWorkerHasNotHeardOfEndsWithIt) {
  const Child holder("holder");
  Process here;
  std::vector<std::byte> got(mebibyte);
  Posted posted(*here.worker);
  {
    const Seen seen(holder, here);
    holder.stop();
    posted.add([&](Completion* done) { return here.worker->get(*seen.window, 0, got, done); });
  }
  EXPECT_FALSE(posted.are_all_done());
  here.worker.reset();
  EXPECT_EQ(posted.results(), std::vector{Status::peer_dead});
}

// [FAB-7]
TEST_P(AskedFor, FreedMemoryIsReachedNoMore) {
  const Child holder("holder");
  const Process here;
  const Seen seen(holder, here);
  holder.line().hear();  // the other key
  Worker& worker = *here.worker;
  std::deque<std::vector<std::byte>> got;
  Posted posted(worker);
  for (int i = 0; i < 8; i++) {
    got.emplace_back(held_bytes);
    posted.add([&](Completion* done) { return worker.get(*seen.window, 0, got.back(), done); });
  }
  holder.line().say("free");
  ASSERT_EQ(posted.wait(), Status::ok);
  EXPECT_EQ(holder.line().hear_text(), "freed");
  for (const Status result : posted.results()) {
    EXPECT_TRUE(result == Status::ok || result == Status::bad_argument) << to_string(result);
  }
  std::uint64_t word = 0;
  const auto bytes = std::as_writable_bytes(std::span(&word, 1));
  EXPECT_EQ(worker.get(*seen.window, 0, bytes, soon()), Status::bad_argument);
  EXPECT_EQ(worker.put(*seen.window, 0, bytes, soon()), Status::bad_argument);
  EXPECT_EQ(worker.fetch_add(*seen.window, 0, 1, &word, soon()), Status::bad_argument);
}

// So that a process may run for ever while others come and go.
TEST_P(AskedFor, ThePlacesOfTheDeadAreUsedAgainButNotTheirIndexes) {
  const Process here;
  std::set<PeerId> met;
  std::set<unsigned> places;
  std::size_t dead = 0;
  here.worker->on_death([&](PeerId) { dead++; });
  Status status;
  const auto memory = here.fabric->allocate(4096, &status);
  std::unique_ptr<Window> first_window;
  constexpr std::size_t rounds = 200;
  for (std::size_t i = 0; i < rounds; i++) {
    auto other = here.fabric->add_worker(&status);
    const PeerId peer = here.connect(other->address());
    EXPECT_TRUE(met.insert(peer).second);
    places.insert(peer & 0xffff);
    if (i == 0) first_window = here.worker->open(peer, memory->key(), &status);
    EXPECT_TRUE(here.worker->is_alive(peer));
    close_worker(&other);
    ASSERT_EQ(here.worker->wait([&] { return dead == i + 1; }, soon()), Status::ok);
  }
  EXPECT_LT(places.size(), rounds);
  for (const PeerId peer : met) {
    EXPECT_FALSE(here.worker->is_alive(peer));
    EXPECT_EQ(here.worker->send(peer, 0, {}, {}, nullptr), Status::peer_dead);
    EXPECT_EQ(here.worker->flush(peer, nullptr), Status::peer_dead);
    EXPECT_EQ(here.worker->open(peer, memory->key(), &status), nullptr);
    EXPECT_EQ(status, Status::peer_dead);
  }
  std::uint64_t word = 0;
  const auto bytes = std::as_writable_bytes(std::span(&word, 1));
  EXPECT_EQ(here.worker->get(*first_window, 0, bytes, nullptr), Status::peer_dead);
}

namespace {

// A window with a key that was changed on its way.
template <typename Change>
std::unique_ptr<Window> open_changed(const Process& here, const Address& address, Bytes key,
                                     Change change) {
  Bytes of_transport;
  auto parts = decode(key, &of_transport);
  change(*parts);
  Status status;
  auto window = here.worker->open(here.connect(address), encode(*parts, of_transport), &status);
  EXPECT_EQ(status, Status::ok) << to_string(status);
  return window;
}

void expect_refused(const Process& here, Window& window, std::size_t offset) {
  Worker& worker = *here.worker;
  std::uint64_t word = 1;
  const auto bytes = std::as_writable_bytes(std::span(&word, 1));
  EXPECT_EQ(worker.get(window, offset, bytes, soon()), Status::bad_argument);
  EXPECT_EQ(worker.put(window, offset, bytes, soon()), Status::bad_argument);
  EXPECT_EQ(worker.fetch_add(window, offset, 1, &word, soon()), Status::bad_argument);
  EXPECT_EQ(worker.compare_swap(window, offset, 0, 1, &word, soon()), Status::bad_argument);
  // Of one that tells nobody the next flush tells, once.
  const Status posted = worker.put(window, offset, bytes, nullptr);
  EXPECT_TRUE(posted == Status::ok || posted == Status::pending) << to_string(posted);
  EXPECT_EQ(worker.flush(window.peer(), soon()), Status::bad_argument);
  EXPECT_EQ(worker.flush(window.peer(), soon()), Status::ok);
}

}  // namespace

// [FAB-5]
TEST_P(AskedFor, AForgedKeyIsRefusedByWhoIsAsked) {
  const Child holder("holder");
  const Process here;
  const auto address = holder.line().hear_value<Address>();
  const auto key = holder.line().hear();
  const auto guessed =
      open_changed(here, address, key, [](MemoryKey& parts) { parts.region.secret++; });
  expect_refused(here, *guessed, 0);
  const auto other =
      open_changed(here, address, key, [](MemoryKey& parts) { parts.region.number += 7; });
  expect_refused(here, *other, 0);
  const auto larger =
      open_changed(here, address, key, [](MemoryKey& parts) { parts.size = ~parts.address; });
  for (const std::size_t offset : {held_bytes, held_bytes * 2, larger->size() / 8 * 8 - 8}) {
    expect_refused(here, *larger, offset);
  }
  std::vector<std::byte> across(mebibyte);
  EXPECT_EQ(here.worker->get(*larger, held_bytes - mebibyte + 1, across, soon()),
            Status::bad_argument);
  EXPECT_EQ(here.worker->put(*larger, held_bytes - mebibyte + 1, across, soon()),
            Status::bad_argument);
}

class Mapped : public OverTransports {};
OVER_TRANSPORTS(Mapped, "shm");

// [FAB-9]
TEST_P(Mapped, AKeyThatLiesIsRefused) {
  const Child holder("holder");
  const Process here;
  const PeerId peer = here.connect(holder.line().hear_value<Address>());
  holder.line().hear();  // the key to ask with
  const auto key = holder.line().hear();
  Bytes of_transport;
  const MemoryKey sound = *decode(key, &of_transport);
  const auto open = [&](const MemoryKey& parts, Bytes transports) {
    Status status;
    const auto window = here.worker->open(peer, encode(parts, transports), &status);
    EXPECT_EQ(window != nullptr, status == Status::ok);
    return status;
  };
  ASSERT_EQ(open(sound, of_transport), Status::ok);
  for (std::size_t bytes = 1; bytes < of_transport.size(); bytes++) {
    EXPECT_EQ(open(sound, of_transport.first(bytes)), Status::bad_argument) << bytes;
  }
  std::vector<std::byte> longer(of_transport.begin(), of_transport.end());
  longer.push_back(std::byte{0});
  EXPECT_EQ(open(sound, longer), Status::bad_argument);
  const std::vector<std::byte> no_key(200, std::byte{0xff});
  EXPECT_EQ(open(sound, no_key), Status::bad_argument);
  if (is_over("verbs")) return;  // there the adapter refuses, when it is asked
  MemoryKey larger = sound;
  larger.size = std::uint64_t{1} << 40;
  Status status;
  const auto window = here.worker->open(peer, encode(larger, of_transport), &status);
  ASSERT_NE(window, nullptr) << to_string(status);
  EXPECT_EQ(window->direct(), nullptr);
  expect_refused(here, *window, larger.size - 8);
}

// Its segment is gone, or never was.
TEST_P(Mapped, WhatIsGoneBeforeItIsMappedIsAskedForAndRefused) {
  if (is_over("verbs")) GTEST_SKIP() << "nothing is mapped; the adapter refuses";
  const Child holder("holder");
  const Process here;
  const PeerId peer = here.connect(holder.line().hear_value<Address>());
  holder.line().hear();  // the key to ask with
  const auto key = holder.line().hear();
  holder.line().say("free");
  EXPECT_EQ(holder.line().hear_text(), "freed");
  Status status;
  const auto window = here.worker->open(peer, key, &status);
  ASSERT_NE(window, nullptr) << to_string(status);
  EXPECT_EQ(window->direct(), nullptr);
  expect_refused(here, *window, 0);
}

// Words must lie at multiples of 8 where they are, not only in the window.
ROLE(askew) {
  const Process process;
  Status status;
  alignas(8) std::byte bytes[64] = {};
  const auto memory = process.fabric->attach(std::span(bytes).subspan(4, 32), &status);
  parent.say_value(process.worker->address());
  parent.say(key_to_ask_with(memory->key()));
  parent.hear();
  return 0;
}

// [FAB-5]
TEST_P(AskedFor, AWordThatLiesAskewIsNotChangedAtomically) {
  const Child askew("askew");
  const Process here;
  const Seen seen(askew, here);
  std::uint64_t word = 5;
  const auto bytes = std::as_writable_bytes(std::span(&word, 1));
  EXPECT_EQ(here.worker->put(*seen.window, 8, bytes, soon()), Status::ok);
  EXPECT_EQ(here.worker->fetch_add(*seen.window, 8, 1, &word, soon()), Status::bad_argument);
  EXPECT_EQ(here.worker->get(*seen.window, 8, bytes, soon()), Status::ok);
  EXPECT_EQ(word, 5u);
}

// Asks for much of everything, until it is killed.
ROLE(asker) {
  const Process process;
  const PeerId peer = process.connect(parent.hear_value<Address>());
  Status status;
  const auto window = process.worker->open(peer, parent.hear(), &status);
  std::vector<std::byte> large(mebibyte);
  std::uint64_t before = 0;
  Worker& worker = *process.worker;
  parent.say("asking");
  for (;;) {
    Posted posted(worker);
    for (const std::size_t size : {std::size_t{8}, std::size_t{4096}, mebibyte}) {
      const auto some = std::span(large).first(size);
      posted.add([&](Completion* done) { return worker.get(*window, 0, some, done); });
      posted.add([&](Completion* done) { return worker.put(*window, mebibyte, some, done); });
      posted.add([&](Completion* done) { return worker.fetch_add(*window, 0, 1, &before, done); });
      posted.add([&](Completion* done) { return worker.flush(peer, done); });
    }
    if (posted.wait() != Status::ok) return 1;
  }
}

// Not on shared memory: docs/operations.md.
class KilledAskers : public OverTransports {};
OVER_TRANSPORTS(KilledAskers, "tcp");

TEST_P(KilledAskers, DoNotEndWhoAnswersThem) {
  std::mt19937 random = iw::testing::seeded_random();
  Child holder("holder");
  const auto address = holder.line().hear_value<Address>();
  const auto key = holder.line().hear();
  for (int i = 0; i < 60; i++) {
    Child asker("asker");
    asker.line().say_value(address);
    asker.line().say(key);
    asker.line().hear();
    const auto end = Clock::now() + std::chrono::microseconds(random() % 5000);
    while (Clock::now() < end) std::this_thread::yield();
    asker.kill();
  }
  const Process here;
  Status status;
  const auto window = here.worker->open(here.connect(address), key, &status);
  std::vector<std::byte> got(mebibyte);
  EXPECT_EQ(here.worker->get(*window, 0, got, soon()), Status::ok);
  holder.line().say("end");
  EXPECT_EQ(holder.wait_for_end(), 0);
}
