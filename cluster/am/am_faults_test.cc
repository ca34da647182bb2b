// Random faults: processes send each other requests while one after another is stopped, continued
// and killed. Every request is answered once or comes back once. Requests to one peer are handled
// in order.
#include <random>

#include "am/am_processes.h"
#include "testing/seed.h"

using namespace iw::am_test;
using iw::testing::Child;

namespace {

struct Account {
  int sent = 0, answered = 0, returned = 0, disordered = 0, twice = 0;
  std::vector<bool> is_settled;
} account;

void settle(int number) {
  const auto at = static_cast<std::size_t>(number);
  account.twice += account.is_settled[at];
  account.is_settled[at] = true;
}

void on_answer(void*, int number, int, int is_in_order, int) {
  account.answered++;
  account.disordered += is_in_order == 0;
  settle(number);
}

void on_returned(int, op_t, const am_returned_t* message) {
  account.returned++;
  settle(message->args[0]);
}

// In a peer, which has one requester: the highest sequence number so far.
int last_sequence = -1;

void on_request(void* token, void* block, std::size_t nbytes, int number, int sequence) {
  const bool is_whole = nbytes == 0 || static_cast<const char*>(block)[nbytes - 1] == 'x';
  const bool is_in_order = sequence == last_sequence + 1 && is_whole;
  last_sequence = sequence;
  AM_Reply4(token, 1, number, 0, is_in_order, 0);
}

struct Peer {
  explicit Peer(const Endpoint& here) : process("victim") {
    index = here.map(process.line().hear_value<en_t>());
  }
  Child process;
  int index = -1;
  int sequence = 0;
  bool is_stopped = false, is_dead = false;
};

// Sends one request, if it can be sent.
void send_to(const Endpoint& here, Peer& peer, std::mt19937& random) {
  static const std::string block(static_cast<std::size_t>(AM_MaxMedium()), 'x');
  const std::size_t nbytes = random() % 4 == 0 ? random() % block.size() : random() % 64;
  account.is_settled.push_back(false);
  const int result =
      AM_RequestI2(here.ep, peer.index, 1, block.data(), nbytes, account.sent, peer.sequence);
  if (result == AM_OK) {
    account.sent++;
    peer.sequence++;
  } else {
    account.is_settled.pop_back();
    EXPECT_EQ(result, AM_ERR_NOT_SENT);
  }
}

void disturb(Peer& peer, std::mt19937& random) {
  if (peer.is_dead) return;
  if (peer.is_stopped) {
    peer.process.go_on();
    peer.is_stopped = false;
  } else if (random() % 8 == 0) {
    peer.process.kill();
    peer.is_dead = true;
  } else {
    peer.process.stop();
    peer.is_stopped = true;
  }
}

}  // namespace

ROLE(victim) {
  const Library library;
  const Endpoint endpoint(AM_PAR);
  endpoint.set(1, handler(&on_request));
  parent.say_value(endpoint.name);
  parent.hear();
  return 0;
}

class Faults : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Over, Faults, ::testing::ValuesIn(iw::testing::transports({"shm", "tcp"})),
                         [](const auto& each) { return std::string(each.param); });

// [AM-1] [AM-7] [AM-16]
TEST_P(Faults, EveryRequestIsAnsweredOrComesBackOnce) {
  setenv("IW_FABRIC", GetParam(), 1);
  std::mt19937 random = iw::testing::seeded_random();
  account = {};
  const Library library;
  const Endpoint here(AM_SEQ, 4);
  here.set(0, handler(&on_returned));
  here.set(1, handler(&on_answer));
  ASSERT_EQ(AM_SetRequestWait(here.bundle, 0), AM_OK);
  std::vector<std::unique_ptr<Peer>> peers;
  for (int i = 0; i < 4; i++) peers.push_back(std::make_unique<Peer>(here));
  for (int step = 0; step < 20000; step++) {
    Peer& peer = *peers[random() % peers.size()];
    send_to(here, peer, random);
    if (random() % 4 == 0) AM_Poll(here.bundle);
    if (random() % 400 == 0) disturb(peer, random);
  }
  for (const auto& peer : peers) {
    if (peer->is_stopped) peer->process.go_on();
  }
  EXPECT_TRUE(here.poll_until([] { return account.answered + account.returned >= account.sent; }));
  EXPECT_EQ(account.answered + account.returned, account.sent);
  EXPECT_EQ(account.twice, 0);
  EXPECT_EQ(account.disordered, 0);
  EXPECT_GT(account.answered, 0);
}
