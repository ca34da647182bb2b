// The fabric between real processes, on shared memory and on TCP; on verbs in a guest that has
// adapters (make test-rdma).
#include "fabric/fabric.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "fabric/fabric_fixture.h"
#include "testing/seed.h"

using namespace iw::fabric;
using namespace iw::fabric_tests;
using namespace std::chrono_literals;

namespace {

Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }
std::string text_in(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Sends everything back to where it came from. The payload goes with the handler, so a copy is
// sent.
void echo(void* worker, const Message& message) {
  struct Kept : Completion {
    std::vector<std::byte> payload;
  };
  auto* kept = new Kept;
  kept->payload.assign(message.payload.begin(), message.payload.end());
  kept->done = [](Completion& self, Status) { delete static_cast<Kept*>(&self); };
  const Status status =
      static_cast<Worker*>(worker)->send(message.from, 1, message.header, kept->payload, kept);
  if (status != Status::pending) delete kept;
}

struct Heard {
  std::vector<std::string> headers;
  std::vector<std::vector<std::byte>> payloads;
  static void handler(void* heard, const Message& message) {
    auto& self = *static_cast<Heard*>(heard);
    self.headers.push_back(text_in(message.header));
    self.payloads.emplace_back(message.payload.begin(), message.payload.end());
  }
};

}  // namespace

// Echoes, and has memory of 1 MiB; its application thread never calls the fabric.
ROLE(target) {
  const Process process;
  process.worker->set_handler(0, &echo, process.worker.get());
  Status status;
  const auto memory = process.fabric->allocate(1 << 20, &status);
  parent.say_value(process.worker->address());
  parent.say(memory->key());
  parent.hear();
  return 0;
}

class Fabrics : public OverTransports {
 protected:
  static Address address_of(const Child& child) { return child.line().hear_value<Address>(); }
  static bool is_shared_memory() { return !is_over("tcp") && !is_over("verbs"); }
};
OVER_TRANSPORTS(Fabrics, "shm", "tcp", "auto");

// [FAB-2]
TEST_P(Fabrics, MessagesGoThereAndBackInOrder) {
  const Child target("target");
  const Process here;
  Heard heard;
  here.worker->set_handler(1, &Heard::handler, &heard);
  const PeerId peer = here.connect(address_of(target));
  std::size_t sent = 0;
  for (const std::size_t size : {0, 1, 32, 1000, 8192, 70000, 1 << 20}) {
    const std::string header = "message " + std::to_string(sent);
    const auto payload = pattern(size, static_cast<unsigned>(sent));
    struct Counted : Completion {
      bool is_done = false;
    } counted;
    counted.done = [](Completion& self, Status) { static_cast<Counted&>(self).is_done = true; };
    const Status status = here.worker->send(peer, 0, bytes_of(header), payload, &counted);
    ASSERT_TRUE(status == Status::ok || status == Status::pending) << to_string(status);
    sent++;
    const auto is_back = [&] {
      return heard.headers.size() == sent && (status == Status::ok || counted.is_done);
    };
    ASSERT_EQ(here.worker->wait(is_back, soon()), Status::ok) << size;
    EXPECT_EQ(heard.headers.back(), header);
    EXPECT_EQ(heard.payloads.back(), payload);
  }
}

// [FAB-2]
TEST_P(Fabrics, MessagesThatAreTooLargeAreRefused) {
  const Process here;
  const PeerId itself = here.connect(here.worker->address());
  const std::vector<std::byte> bytes(payload_bytes_max + 1);
  const auto send = [&](int id, std::size_t header, std::size_t payload) {
    return here.worker->send(itself, static_cast<MessageId>(id), Bytes(bytes).first(header),
                             Bytes(bytes).first(payload), nullptr);
  };
  EXPECT_EQ(send(message_ids, 0, 0), Status::bad_argument);
  EXPECT_EQ(send(request_id, 0, 0), Status::bad_argument);
  EXPECT_EQ(send(0, header_bytes_max + 1, 0), Status::bad_argument);
  EXPECT_EQ(send(0, 0, payload_bytes_max + 1), Status::bad_argument);
  EXPECT_EQ(send(0, header_bytes_max, 0), Status::ok);
}

TEST_P(Fabrics, WhatWasPutIsGot) {
  const Child target("target");
  const Process here;
  const Seen seen(target, here);
  for (const std::size_t size : {1, 8, 4096, 100000, 1 << 20}) {
    const auto sent = pattern(size, 7);
    std::vector<std::byte> got(size);
    ASSERT_EQ(here.worker->put(*seen.window, (1 << 20) - size, sent, soon()), Status::ok);
    ASSERT_EQ(here.worker->get(*seen.window, (1 << 20) - size, got, soon()), Status::ok);
    EXPECT_EQ(got, sent);
  }
}

TEST_P(Fabrics, NothingOutsideTheWindowIsReached) {
  const Child target("target");
  const Process here;
  const Seen seen(target, here);
  std::vector<std::byte> bytes(16);
  std::uint64_t before = 0;
  Worker& worker = *here.worker;
  EXPECT_EQ(worker.put(*seen.window, (1 << 20) - 15, bytes, soon()), Status::bad_argument);
  EXPECT_EQ(worker.get(*seen.window, ~std::size_t{0}, bytes, soon()), Status::bad_argument);
  EXPECT_EQ(worker.fetch_add(*seen.window, 1 << 20, 1, &before, soon()), Status::bad_argument);
  EXPECT_EQ(worker.fetch_add(*seen.window, 4, 1, &before, soon()), Status::bad_argument);
  EXPECT_EQ(worker.send(seen.peer + 1, 0, {}, {}, nullptr), Status::bad_argument);
  EXPECT_EQ(worker.send(seen.peer, 0, pattern(header_bytes_max + 1, 0), {}, nullptr),
            Status::bad_argument);
}

ROLE(adder) {
  const Process process;
  const PeerId peer = process.connect(parent.hear_value<Address>());
  Status status;
  const auto window = process.worker->open(peer, parent.hear(), &status);
  return add_a_thousand(*process.worker, *window);
}

TEST_P(Fabrics, WordsAreChangedByOneAtATime) {
  const Child target("target");
  const Process here;
  const auto address = target.line().hear_value<Address>();
  const auto key = target.line().hear();
  Child adders[] = {Child("adder"), Child("adder"), Child("adder")};
  for (Child& adder : adders) {
    adder.line().say_value(address);
    adder.line().say(key);
  }
  for (Child& adder : adders) EXPECT_EQ(adder.wait_for_end(), 0);
  Status status;
  const auto window = here.worker->open(here.connect(address), key, &status);
  std::uint64_t sum = 0;
  EXPECT_EQ(here.worker->fetch_add(*window, 8, 0, &sum, soon()), Status::ok);
  EXPECT_EQ(sum, 3000u);
}

TEST_P(Fabrics, AStoppedTargetIsReachedExactlyWhereAccessIsOnesided) {
  Child target("target");
  const Process here;
  const Seen seen(target, here);
  const auto sent = pattern(4096, 3);
  std::vector<std::byte> got(4096);
  std::uint64_t before = 1;
  target.stop();
  for (const auto operation : {Operation::put, Operation::get, Operation::fetch_add}) {
    const bool is_onesided = here.worker->is_onesided(operation, *seen.window);
    EXPECT_EQ(here.worker->is_onesided(operation, seen.peer), is_onesided);
    EXPECT_EQ(is_onesided,
              is_shared_memory() || (is_over("verbs") && operation != Operation::fetch_add));
    const Deadline deadline = Clock::now() + (is_onesided ? 30s : 0s) + 50ms;
    const Status done = operation == Operation::put
                            ? here.worker->put(*seen.window, 0, sent, deadline)
                        : operation == Operation::get
                            ? here.worker->get(*seen.window, 0, got, deadline)
                            : here.worker->fetch_add(*seen.window, 8192, 5, &before, deadline);
    EXPECT_EQ(done, is_onesided ? Status::ok : Status::timed_out) << to_string(done);
    if (operation == Operation::get && is_onesided) {
      EXPECT_EQ(got, sent);
    }
  }
  target.go_on();
  EXPECT_EQ(here.worker->get(*seen.window, 0, got, soon()), Status::ok);
  EXPECT_EQ(got, sent) << "what timed out was not undone";
  EXPECT_EQ(here.worker->fetch_add(*seen.window, 8192, 0, &before, soon()), Status::ok);
  EXPECT_EQ(before, 5u);
}

namespace {

// It dies while messages to it are half sent.
void expect_a_dead_peer_is_named() {
  Child target("target");
  const Process here;
  std::vector<PeerId> dead;
  here.worker->on_death([&](PeerId peer) { dead.push_back(peer); });
  const Seen seen(target, here);
  target.stop();
  struct Ended : Completion {
    int count = 0;
    std::vector<Status> results;
  } ended;
  ended.done = [](Completion& self, Status status) {
    static_cast<Ended&>(self).results.push_back(status);
  };
  // More than any queue on the way holds, so that some is under way when the target dies.
  const auto payload = pattern(1 << 20, 1);
  for (int i = 0; i < 16; i++) {
    ended.count += here.worker->send(seen.peer, 0, {}, payload, &ended) == Status::pending;
  }
  EXPECT_GT(ended.count, 0);
  target.kill();
  const auto all_ended = [&] {
    return !dead.empty() && ended.results.size() == static_cast<std::size_t>(ended.count);
  };
  ASSERT_EQ(here.worker->wait(all_ended, soon()), Status::ok);
  EXPECT_EQ(dead, std::vector{seen.peer});
  EXPECT_EQ(ended.results.back(), Status::peer_dead);
  EXPECT_FALSE(here.worker->is_alive(seen.peer));
  EXPECT_EQ(here.worker->send(seen.peer, 0, {}, {}, nullptr), Status::peer_dead);
  std::vector<std::byte> got(8);
  EXPECT_EQ(here.worker->get(*seen.window, 0, got, soon()), Status::peer_dead);
  EXPECT_EQ(here.worker->flush(seen.peer, soon()), Status::peer_dead);
}

}  // namespace

// [FAB-3]
TEST_P(Fabrics, ADeadPeerIsNamedAndItsOperationsEnd) { expect_a_dead_peer_is_named(); }

// By TCP the death may be heard of by receiving or by sending; now and then it is the latter.
TEST_P(Fabrics, ManyPeersMayDieWhileTheyAreSentTo) {
  for (int peer = 0; peer < 40; peer++) expect_a_dead_peer_is_named();
}

TEST_P(Fabrics, APeerMayDieWhileThreadsAreAboutToReachIt) {
  for (int round = 0; round < 8; round++) {
    Child target("target");
    const Process here;
    const Seen seen(target, here);
    std::atomic<int> reading{0};
    std::vector<std::thread> readers;
    for (int i = 0; i < 4; i++) {
      readers.emplace_back([&] {
        std::uint64_t word = 0;
        Status status = here.worker->fetch_add(*seen.window, 0, 1, &word, soon());
        reading++;
        while (status == Status::ok) {
          status = here.worker->get(*seen.window, 0, std::as_writable_bytes(std::span(&word, 1)),
                                    soon());
        }
        EXPECT_EQ(status, Status::peer_dead);
      });
    }
    while (reading < 4) std::this_thread::yield();
    target.kill();
    for (auto& each : readers) each.join();
  }
}

namespace {

// How many shared segments a process has made that are still there.
int segments_of(pid_t pid) {
  std::ifstream list("/proc/sysvipc/shm");
  int count = 0;
  for (std::string line; std::getline(list, line);) {
    long key = 0, id = 0, mode = 0, size = 0, creator = 0;
    std::istringstream(line) >> key >> id >> mode >> size >> creator;
    count += creator == pid;
  }
  return count;
}

std::size_t transport_files() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    count += entry.path().filename().string().starts_with("ucx");
  }
  return count;
}

}  // namespace

TEST_P(Fabrics, NothingIsLeftOfAKilledProcess) {
  const std::size_t files = transport_files();
  Child target("target");
  const pid_t pid = target.pid();
  {
    const Process here;
    const Seen seen(target, here);
    EXPECT_EQ(segments_of(pid) > 0, is_shared_memory());
    target.kill();
  }
  EXPECT_EQ(segments_of(pid), 0);
  EXPECT_EQ(transport_files(), files);
}

TEST_P(Fabrics, WhoDiedBeforeIsNotConnectedWith) {
  Child target("target");
  const auto address = address_of(target);
  target.kill();
  const Process here;
  PeerId peer;
  EXPECT_EQ(here.worker->connect(address, soon(), &peer), Status::peer_dead);
}

// Connects with the parent, until it is killed.
ROLE(caller) {
  const Process process;
  parent.say_value(process.worker->address());
  const auto address = parent.hear_value<Address>();
  parent.say("about to connect");
  PeerId peer;
  process.worker->connect(address, soon(), &peer);
  parent.hear();
  return 0;
}

// Not on shared memory, where who is killed in the middle of a send leaves a hole in the
// transport's queue that nothing passes (docs/operations.md).
class Connections : public Fabrics {};
OVER_TRANSPORTS(Connections, "tcp");

TEST_P(Connections, WhoDiesWhileTwoConnectTakesNobodyAlong) {
  std::mt19937 random = iw::testing::seeded_random();
  const Process here;
  const int callers = is_over("tcp") ? 60 : 4;  // the rest are slow
  for (int i = 0; i < callers; i++) {
    Child caller("caller");
    const auto address = address_of(caller);
    caller.line().say_value(here.worker->address());
    caller.line().hear();
    const Deadline end = Clock::now() + std::chrono::microseconds(random() % 3000);
    if (random() % 2 == 0) {
      here.worker->wait([] { return false; }, end);
    } else {
      PeerId peer;
      here.worker->connect(address, end, &peer);
    }
    caller.kill();
  }
  const Child target("target");
  EXPECT_TRUE(here.worker->is_alive(here.connect(address_of(target))));
}

// Connects with the parent when it is told.
ROLE(newcomer) {
  const Process process;
  const auto address = parent.hear_value<Address>();
  parent.say("ready");
  parent.hear();
  PeerId peer;
  const Status connected = process.worker->connect(address, soon(), &peer);
  parent.say(to_string(connected));
  parent.hear();
  return 0;
}

class Crowds : public Fabrics {};
OVER_TRANSPORTS(Crowds, "shm");

TEST_P(Crowds, OfSixtyMayConnectAtOnce) {
  const Process here;
  std::deque<Child> newcomers;
  for (int i = 0; i < 60; i++) {
    newcomers.emplace_back("newcomer").line().say_value(here.worker->address());
  }
  for (Child& each : newcomers) EXPECT_EQ(each.line().hear_text(), "ready");
  for (Child& each : newcomers) each.line().say("go");
  for (Child& each : newcomers) EXPECT_EQ(each.line().hear_text(), to_string(Status::ok));
  for (Child& each : newcomers) each.line().say("end");
  for (Child& each : newcomers) EXPECT_EQ(each.wait_for_end(), 0);
}

// Opens its part over TCP, with its output going to the parent's file.
ROLE(quiet) {
  const std::string file = parent.hear_text();
  if (freopen(file.c_str(), "w", stdout) == nullptr || dup2(1, 2) != 2) return 1;
  const Process process(Transport::tcp);
  return 0;
}

TEST_P(Fabrics, AChildOverAnotherTransportSaysNothing) {
  const Process here;
  char file[] = "/tmp/iw-fabric-XXXXXX";
  close(mkstemp(file));
  Child child("quiet");
  child.line().say(std::string(file));
  EXPECT_EQ(child.wait_for_end(), 0);
  std::ostringstream said;
  said << std::ifstream(file).rdbuf();
  EXPECT_EQ(said.str(), "");
  std::filesystem::remove(file);
}

TEST_P(Fabrics, WhoLeavesSaysSo) {
  Child target("target");
  const Process here;
  PeerId gone = ~0u;
  here.worker->on_death([&](PeerId peer) { gone = peer; });
  const PeerId peer = here.connect(address_of(target));
  target.line().say("go");
  ASSERT_EQ(here.worker->wait([&] { return gone == peer; }, soon()), Status::ok);
  EXPECT_EQ(target.wait_for_end(), 0);
}

TEST_P(Fabrics, AStoppedPeerIsWaitedForUntilTheDeadline) {
  Child target("target");
  const auto address = address_of(target);
  const Process here;
  target.stop();
  PeerId peer;
  EXPECT_EQ(here.worker->connect(address, Clock::now() + 50ms, &peer), Status::timed_out);
  target.go_on();
  EXPECT_EQ(here.worker->connect(address, soon(), &peer), Status::ok);
}

TEST_P(Fabrics, TwoWorkersOfAProcessTalkAndOneTalksToItself) {
  const Process here;
  Status status;
  const auto other = here.fabric->add_worker(&status);
  other->set_handler(0, &echo, other.get());
  here.worker->set_handler(0, &echo, here.worker.get());
  Heard heard;
  here.worker->set_handler(1, &Heard::handler, &heard);
  const PeerId peers[] = {here.connect(other->address()), here.connect(here.worker->address())};
  for (const PeerId peer : peers) {
    heard.headers.clear();
    here.worker->send(peer, 0, bytes_of("hello"), {}, nullptr);
    ASSERT_EQ(here.worker->wait([&] { return !heard.headers.empty(); }, soon()), Status::ok);
    EXPECT_EQ(heard.headers.front(), "hello");
  }
}

// IW_TEST_CUT is the command that cuts the network (cut_network_test.sh).
TEST(CutNetwork, DISABLED_AWorkerEndsWithMessagesToItsOwnProcess) {
  const Process here(Transport::tcp);
  Status status;
  auto other = here.fabric->add_worker(&status);
  ASSERT_EQ(status, Status::ok);
  PeerId peer = 0;
  ASSERT_EQ(other->connect(here.worker->address(), soon(), &peer), Status::ok);
  ASSERT_EQ(std::system(std::getenv("IW_TEST_CUT")), 0);
  const std::string kibibytes(64 * 1024, 'x');
  for (int i = 0; i < 1000; i++) other->send(peer, 0, {}, bytes_of(kibibytes), nullptr);
  other.reset();
}

TEST_P(Fabrics, AHandlerMaySendButNotWait) {
  const Process here;
  struct Seen {
    Worker* worker;
    Status waited = Status::ok;
    bool was_in_handler = false;
  } seen{here.worker.get()};
  here.worker->set_handler(
      0,
      [](void* context, const Message&) {
        auto& self = *static_cast<Seen*>(context);
        self.was_in_handler = self.worker->in_handler();
        self.waited = self.worker->wait([] { return true; }, soon());
      },
      &seen);
  here.worker->send(here.connect(here.worker->address()), 0, {}, {}, nullptr);
  ASSERT_EQ(here.worker->wait([&] { return seen.was_in_handler; }, soon()), Status::ok);
  EXPECT_EQ(seen.waited, Status::in_handler);
  EXPECT_FALSE(here.worker->in_handler());
}

// The library would deliver it inside the call that sends it.
TEST_P(Fabrics, WhatAHandlerSendsToItsOwnWorkerIsHandledAfterIt) {
  const Process here;
  Status status;
  const auto other = here.fabric->add_worker(&status);
  struct Seen {
    Worker* worker;
    PeerId itself = 0;
    bool is_inside = false;
    std::vector<std::string> heard{};
  } seen{here.worker.get()};
  seen.itself = here.connect(here.worker->address());
  here.worker->set_handler(
      0,
      [](void* context, const Message&) {
        auto& self = *static_cast<Seen*>(context);
        self.is_inside = true;
        for (const char* text : {"first", "second"}) {
          self.worker->send(self.itself, 1, bytes_of(text), {}, nullptr);
        }
        self.is_inside = false;
      },
      &seen);
  here.worker->set_handler(
      1,
      [](void* context, const Message& message) {
        auto& self = *static_cast<Seen*>(context);
        EXPECT_FALSE(self.is_inside);
        self.heard.push_back(text_in(message.header));
      },
      &seen);
  PeerId peer = 0;
  ASSERT_EQ(other->connect(here.worker->address(), soon(), &peer), Status::ok);
  other->send(peer, 0, {}, {}, nullptr);
  ASSERT_EQ(here.worker->wait([&] { return seen.heard.size() == 2; }, soon()), Status::ok);
  EXPECT_EQ(seen.heard, (std::vector<std::string>{"first", "second"}));
}

// [FAB-1]
TEST(Address, IsLittleEndianAndNamesComputerProcessAndWorker) {
  const Process here;
  const Address address = here.worker->address();
  EXPECT_EQ(text_in(Bytes(address.bytes).first(4)), "IWF1");
  char text[16];
  std::snprintf(text, sizeof text, ":%08x:", static_cast<unsigned>(getpid()));
  EXPECT_NE(to_string(address).find(text), std::string::npos) << to_string(address);
  EXPECT_EQ(static_cast<unsigned>(address.bytes[4]), static_cast<unsigned>(getpid()) & 0xff);
  EXPECT_EQ(to_string(Address{}), "?");
}

// [FAB-8]
TEST(Address, ThatIsNoneIsRefused) {
  const Process here;
  PeerId peer;
  EXPECT_EQ(here.worker->connect(Address{}, soon(), &peer), Status::bad_argument);
}
