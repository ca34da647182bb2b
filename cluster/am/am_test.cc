// Active Messages between real processes: each arrives once and in order, and its reply has room.
#include <unistd.h>

#include <atomic>
#include <numeric>
#include <set>
#include <thread>

#include "am/am_processes.h"

using namespace iw::am_test;
using iw::testing::Child;
using namespace std::chrono_literals;

namespace {

std::atomic<int> replies_refused = 0;

void note(int result) { replies_refused += result != AM_OK; }

void on_words(void* token, int a0, int a1, int a2, int a3) {
  note(AM_Reply4(token, 1, a0, a1, a2, a3));
}
void on_block(void* token, void* block, std::size_t nbytes, int a0) {
  note(AM_ReplyI1(token, 2, block, nbytes, a0));
}
void on_xfer(void* token, void* block, std::size_t nbytes, int a0) {
  note(AM_ReplyXfer1(token, 64, 3, block, nbytes, a0));
}
void on_nothing(void*, int) {}
void on_twice(void* token, int) {
  const int first = AM_Reply0(token, 4);
  const int second = AM_Reply0(token, 4);
  if (first != AM_OK || second != AM_ERR_RESOURCE) replies_refused++;
}
void on_wrongly(void* token, int word) { note(AM_Reply1(token, 99, word)); }

std::vector<std::byte> pattern(std::size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; i++)
    bytes[i] = static_cast<std::byte>(i * 13 + (i >> 8) + seed);
  return bytes;
}

}  // namespace

namespace iw::am_test {

void set_echo_handlers(const Endpoint& endpoint) {
  endpoint.set(echo_words, handler(&on_words));
  endpoint.set(echo_block, handler(&on_block));
  endpoint.set(echo_xfer, handler(&on_xfer));
  endpoint.set(answer_nothing, handler(&on_nothing));
  endpoint.set(answer_twice, handler(&on_twice));
  endpoint.set(answer_wrongly, handler(&on_wrongly));
}

}  // namespace iw::am_test

// Echoes from the library's thread until it is told to end. Its status is the number of replies
// that were refused.
ROLE(echo) {
  const Library library;
  const Endpoint endpoint(AM_PAR);
  set_echo_handlers(endpoint);
  parent.say_value(endpoint.name);
  parent.hear();
  return replies_refused;
}

// A message that came back, and a copy of its block.
struct Returned {
  int status;
  op_t op;
  am_returned_t message;
  std::vector<std::byte> block;
};

// The messages that arrived at a test's endpoint. A global, because handlers have no context.
static struct Arrived {
  int replies = 0;
  std::vector<int> words;
  std::vector<std::byte> block;
  void* where = nullptr;
  std::vector<Returned> returned;
} arrived;

static void on_echoed_words(void*, int a0, int a1, int a2, int a3) {
  arrived.replies++;
  arrived.words = {a0, a1, a2, a3};
}
static void on_echoed_block(void*, void* block, std::size_t nbytes, int a0) {
  arrived.replies++;
  arrived.words = {a0};
  const auto* bytes = static_cast<const std::byte*>(block);
  arrived.block.assign(bytes, bytes + nbytes);
  arrived.where = block;
}
static void on_empty_reply(void*) { arrived.replies++; }
static void on_returned(int status, op_t op, const am_returned_t* message) {
  const auto* bytes = static_cast<const std::byte*>(message->block);
  arrived.returned.push_back({status, op, *message, {bytes, bytes + message->nbytes}});
}

class Messages : public ::testing::TestWithParam<const char*> {
 protected:
  Messages() {
    setenv("IW_FABRIC", GetParam(), 1);
    arrived = {};
    library_ = std::make_unique<Library>();
    here_ = std::make_unique<Endpoint>();
    here_->set(0, handler(&on_returned));
    here_->set(1, handler(&on_echoed_words));
    here_->set(2, handler(&on_echoed_block));
    here_->set(3, handler(&on_echoed_block));
    here_->set(4, handler(&on_empty_reply));
    there_ = std::make_unique<Child>("echo");
    there_name_ = there_->line().hear_value<en_t>();
    to_ = here_->map(there_name_);
  }
  // The echoing process's count of refused replies.
  int end_of_echo() const {
    there_->line().say("end");
    return there_->wait_for_end();
  }
  bool poll_for_replies(int count) const {
    return here_->poll_until([&] { return arrived.replies >= count; });
  }
  std::unique_ptr<Library> library_;
  std::unique_ptr<Endpoint> here_;
  std::unique_ptr<Child> there_;
  en_t there_name_{};
  int to_ = -1;
};
INSTANTIATE_TEST_SUITE_P(Over, Messages,
                         ::testing::ValuesIn(iw::testing::transports({"shm", "tcp"})),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(Messages, WordsGoThereAndBack) {
  for (int round = 0; round < 100; round++) {
    ASSERT_EQ(AM_Request4(here_->ep, to_, echo_words, round, -1, 2, INT32_MIN), AM_OK);
    ASSERT_TRUE(poll_for_replies(round + 1));
    EXPECT_EQ(arrived.words, (std::vector{round, -1, 2, INT32_MIN}));
  }
  EXPECT_EQ(end_of_echo(), 0);
}

// [AM-1]
TEST_P(Messages, BlocksGoThereAndBack) {
  int count = 0;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1024},
                                 static_cast<std::size_t>(AM_MaxMedium())}) {
    const auto block = pattern(size, 5);
    ASSERT_EQ(AM_RequestI1(here_->ep, to_, echo_block, block.data(), size, count), AM_OK);
    ASSERT_TRUE(poll_for_replies(++count));
    EXPECT_EQ(arrived.block, block);
  }
  EXPECT_EQ(end_of_echo(), 0);
}

// [AM-15]
TEST_P(Messages, XferBlocksLieInTheSegments) {
  const auto block = pattern(static_cast<std::size_t>(AM_MaxLong()), 9);
  ASSERT_EQ(AM_RequestXfer1(here_->ep, to_, 4096, echo_xfer, block.data(), block.size(), 7), AM_OK);
  ASSERT_TRUE(poll_for_replies(1));
  EXPECT_EQ(arrived.where, here_->segment.data() + 64);
  EXPECT_EQ(arrived.block, block);
  // The block lies in the other's segment now, so that a get finds it.
  ASSERT_EQ(AM_GetXferAsynch1(here_->ep, to_, 4096 + 100, 3, 500000, 1000, 8), AM_OK);
  ASSERT_TRUE(poll_for_replies(2));
  EXPECT_EQ(arrived.where, here_->segment.data() + 500000);
  EXPECT_EQ(arrived.words, std::vector{8});
  EXPECT_TRUE(std::equal(arrived.block.begin(), arrived.block.end(), block.begin() + 100));
  EXPECT_EQ(arrived.block.size(), 1000u);
  EXPECT_EQ(end_of_echo(), 0);
}

TEST_P(Messages, ARoundTripIsTwoMessages) {
  std::uint64_t sent_before = 0, received_before = 0, sent = 0, received = 0;
  ASSERT_EQ(AM_GetMessageCounts(here_->bundle, &sent_before, &received_before), AM_OK);
  for (int round = 0; round < 50; round++) {
    ASSERT_EQ(AM_Request4(here_->ep, to_, echo_words, round, 0, 0, 0), AM_OK);
    // Each poll finds a message. A poll that finds nothing would send an acknowledgement.
    while (arrived.replies <= round) ASSERT_EQ(AM_Poll(here_->bundle), AM_OK);
  }
  ASSERT_EQ(AM_GetMessageCounts(here_->bundle, &sent, &received), AM_OK);
  EXPECT_EQ(sent - sent_before, 50u);
  EXPECT_EQ(received - received_before, 50u);
}

// [AM-6]
TEST_P(Messages, TheRequestThatDoesNotFitIsRefusedAndRepliesNeverAre) {
  there_->stop();
  for (int i = 0; i < 8; i++) {
    ASSERT_EQ(AM_RequestXferAsync1(here_->ep, to_, 0, echo_xfer, nullptr, 0, i), AM_OK);
  }
  EXPECT_EQ(AM_RequestXferAsync1(here_->ep, to_, 0, echo_xfer, nullptr, 0, 8), AM_ERR_NOT_SENT);
  ASSERT_EQ(AM_SetRequestWait(here_->bundle, 0), AM_OK);
  EXPECT_EQ(AM_Request4(here_->ep, to_, echo_words, 8, 0, 0, 0), AM_ERR_NOT_SENT);
  ASSERT_EQ(AM_SetRequestWait(here_->bundle, 0.02), AM_OK);
  EXPECT_EQ(AM_Request4(here_->ep, to_, echo_words, 8, 0, 0, 0), AM_ERR_NOT_SENT);
  there_->go_on();
  // A request that waits gets its room, many times over.
  ASSERT_EQ(AM_SetRequestWait(here_->bundle, 30), AM_OK);
  for (int i = 0; i < 1000; i++) {
    ASSERT_EQ(AM_RequestI1(here_->ep, to_, echo_block, "12345678", 8, i), AM_OK);
  }
  ASSERT_TRUE(poll_for_replies(1008));
  EXPECT_EQ(arrived.replies, 1008);
  EXPECT_TRUE(arrived.returned.empty());
  EXPECT_EQ(end_of_echo(), 0) << "replies were refused";
}

// [AM-7]
TEST_P(Messages, ARequestWithoutAReplyLeavesItsRoom) {
  for (int i = 0; i < 100; i++) ASSERT_EQ(AM_Request1(here_->ep, to_, answer_nothing, i), AM_OK);
  EXPECT_EQ(arrived.replies, 0);
}

TEST_P(Messages, OnlyTheFirstReplyIsSent) {
  ASSERT_EQ(AM_Request1(here_->ep, to_, answer_twice, 0), AM_OK);
  ASSERT_EQ(AM_Request4(here_->ep, to_, echo_words, 0, 0, 0, 0), AM_OK);
  ASSERT_TRUE(poll_for_replies(2));
  EXPECT_EQ(arrived.replies, 2);
  EXPECT_EQ(end_of_echo(), 0);
}

// [AM-11] [AM-13] [AM-14]
TEST_P(Messages, WhatIsRefusedThereComesBackAsItWasSent) {
  const int wrongly = here_->map(there_name_, right_tag + 1);
  auto block = pattern(100, 1);
  auto xfer = pattern(2000, 2);
  const auto block_as_sent = block, xfer_as_sent = xfer;
  ASSERT_EQ(AM_RequestI2(here_->ep, wrongly, echo_block, block.data(), block.size(), 5, 6), AM_OK);
  ASSERT_EQ(AM_Request1(here_->ep, to_, 77, 3), AM_OK);
  ASSERT_EQ(AM_RequestXfer0(here_->ep, to_, segment_bytes + 1, echo_xfer, nullptr, 0), AM_OK);
  ASSERT_EQ(
      AM_RequestXfer1(here_->ep, to_, segment_bytes - 1999, echo_xfer, xfer.data(), xfer.size(), 9),
      AM_OK);
  ASSERT_EQ(AM_GetXfer0(here_->ep, to_, segment_bytes - 99, 3, 0, 100), AM_OK);
  std::fill(block.begin(), block.end(), std::byte{0});  // the program may use it again
  std::fill(xfer.begin(), xfer.end(), std::byte{0});
  ASSERT_TRUE(here_->poll_until([] { return arrived.returned.size() == 5; }));
  const std::vector<std::pair<int, op_t>> expected{{EBADTAG, AM_REQUEST_IM},
                                                   {EBADHANDLER, AM_REQUEST_M},
                                                   {EBADSEGOFF, AM_REQUEST_XFER_M},
                                                   {EBADLENGTH, AM_REQUEST_XFER_M},
                                                   {EBADLENGTH, AM_GET_XFER_M}};
  for (std::size_t i = 0; i < expected.size(); i++) {
    EXPECT_EQ(arrived.returned[i].status, expected[i].first) << i;
    EXPECT_EQ(arrived.returned[i].op, expected[i].second) << i;
  }
  const am_returned_t& first = arrived.returned[0].message;
  EXPECT_EQ(first.destination, wrongly);
  EXPECT_EQ(first.handler, echo_block);
  EXPECT_EQ(first.n_args, 2);
  EXPECT_EQ(first.args[1], 6);
  EXPECT_EQ(arrived.returned[0].block, block_as_sent);
  EXPECT_EQ(arrived.returned[3].message.offset, segment_bytes - 1999);
  EXPECT_EQ(arrived.returned[3].block, xfer_as_sent);
  EXPECT_EQ(arrived.replies, 0);
}

static int reply_returned_status = 0;
static void note_returned_reply(int status, op_t op, const am_returned_t* message) {
  if (op == AM_REPLY_M && message->destination == -1 && message->args[0] == 31) {
    reply_returned_status = status;
  }
}

ROLE(wrong_replier) {
  const Library library;
  const Endpoint endpoint;
  set_echo_handlers(endpoint);
  endpoint.set(0, handler(&note_returned_reply));
  parent.say_value(endpoint.name);
  return endpoint.poll_until([] { return reply_returned_status != 0; }) ? reply_returned_status : 0;
}

// [AM-13]
TEST_P(Messages, AReplyThatIsRefusedComesBackToItsSender) {
  Child other("wrong_replier");
  const int to = here_->map(other.line().hear_value<en_t>());
  ASSERT_EQ(AM_Request1(here_->ep, to, answer_wrongly, 31), AM_OK);
  std::uint64_t sent = 0, received = 0, before = 0;
  AM_GetMessageCounts(here_->bundle, &before, &received);
  ASSERT_TRUE(here_->poll_until([&] {
    AM_GetMessageCounts(here_->bundle, &sent, &received);
    return sent > before;  // the reply was returned
  }));
  EXPECT_EQ(other.wait_for_end(), EBADHANDLER);
}

// [AM-16]
TEST_P(Messages, AKilledPeersMessagesComeBackOnce) {
  there_->stop();
  for (int i = 0; i < 8; i++) ASSERT_EQ(AM_Request4(here_->ep, to_, echo_words, i, 0, 0, 0), AM_OK);
  there_->kill();
  ASSERT_TRUE(here_->poll_until([] { return arrived.returned.size() == 8; }));
  std::set<int> which;
  for (const Returned& each : arrived.returned) {
    EXPECT_EQ(each.status, EUNREACHABLE);
    which.insert(each.message.args[0]);
  }
  EXPECT_EQ(which.size(), 8u);
  EXPECT_EQ(AM_Request4(here_->ep, to_, echo_words, 9, 0, 0, 0), AM_ERR_NOT_SENT);
  int index = 0;
  EXPECT_EQ(AM_MapAny(here_->ep, &index, there_name_, right_tag), AM_ERR_NOT_SENT);
  for (int i = 0; i < 100; i++) AM_Poll(here_->bundle);
  EXPECT_EQ(arrived.returned.size(), 8u);
}

TEST_P(Messages, AKilledPeersBlocksComeBackAsTheyWereSent) {
  there_->stop();
  for (int i = 0; i < 8; i += 2) {
    auto block = pattern(static_cast<std::size_t>(AM_MaxMedium()), static_cast<unsigned>(i));
    ASSERT_EQ(AM_RequestI1(here_->ep, to_, echo_block, block.data(), block.size(), i), AM_OK);
    block = pattern(static_cast<std::size_t>(AM_MaxLong()), static_cast<unsigned>(i + 1));
    ASSERT_EQ(AM_RequestXfer1(here_->ep, to_, 16, echo_xfer, block.data(), block.size(), i + 1),
              AM_OK);
  }
  there_->kill();
  ASSERT_TRUE(here_->poll_until([] { return arrived.returned.size() == 8; }));
  for (const Returned& each : arrived.returned) {
    const int which = each.message.args[0];
    const bool is_xfer = which % 2 == 1;
    EXPECT_EQ(each.status, EUNREACHABLE);
    EXPECT_EQ(each.op, is_xfer ? AM_REQUEST_XFER_M : AM_REQUEST_IM);
    EXPECT_EQ(each.message.offset, is_xfer ? 16u : 0u);
    const auto size = static_cast<std::size_t>(is_xfer ? AM_MaxLong() : AM_MaxMedium());
    EXPECT_TRUE(each.block == pattern(size, static_cast<unsigned>(which))) << which;
  }
}

TEST_P(Messages, ARequestThatWaitsForRoomEndsWithThePeer) {
  there_->stop();
  for (int i = 0; i < 8; i++) ASSERT_EQ(AM_Request4(here_->ep, to_, echo_words, i, 0, 0, 0), AM_OK);
  std::thread killer([&] { there_->kill(); });
  EXPECT_EQ(AM_Request4(here_->ep, to_, echo_words, 8, 0, 0, 0), AM_ERR_NOT_SENT);
  killer.join();
  EXPECT_EQ(arrived.returned.size(), 8u);
}

TEST_P(Messages, AMapWhoseIndexGoesMeanwhileIsRefused) {
  ep_t ep = nullptr;
  ASSERT_EQ(AM_AllocateEndpoint(here_->bundle, &ep, nullptr), AM_OK);
  std::uint64_t before = 0, sent = 0, received = 0;
  ASSERT_EQ(AM_GetMessageCounts(here_->bundle, &before, &received), AM_OK);
  there_->stop();
  int mapped = -1;
  std::thread mapper([&] { mapped = AM_Map(ep, 255, there_name_, right_tag); });
  EXPECT_TRUE(here_->poll_until([&] {
    AM_GetMessageCounts(here_->bundle, &sent, &received);
    return sent > before;  // the map waits for the other's answer
  }));
  EXPECT_EQ(AM_SetNumTranslations(ep, 255), AM_OK);
  there_->go_on();
  mapper.join();
  EXPECT_EQ(mapped, AM_ERR_IN_USE);
  EXPECT_EQ(AM_SetNumTranslations(ep, 256), AM_OK);
  EXPECT_EQ(AM_GetTranslationInuse(ep, 255), AM_ERR_RESOURCE);
}

TEST_P(Messages, AnEndpointTalksToItself) {
  set_echo_handlers(*here_);
  here_->set(1, handler(&on_echoed_words));  // both request and reply
  const int self = here_->map(here_->name);
  for (int i = 0; i < 20; i++) ASSERT_EQ(AM_Request4(here_->ep, self, 1, i, 0, 0, 0), AM_OK);
  ASSERT_TRUE(poll_for_replies(20));
}

// [AM-5]
TEST_P(Messages, AFreedEndpointsMessagesComeBack) {
  const Endpoint second;
  ep_t freed = nullptr;
  en_t name;
  ASSERT_EQ(AM_AllocateEndpoint(second.bundle, &freed, &name), AM_OK);
  const int to = here_->map(name);
  ASSERT_EQ(AM_Request4(here_->ep, to, echo_words, 1, 0, 0, 0), AM_OK);
  ASSERT_EQ(AM_FreeEndpoint(freed), AM_OK);
  ASSERT_TRUE(here_->poll_until([] { return arrived.returned.size() == 1; }));
  const int status = arrived.returned[0].status;
  EXPECT_TRUE(status == EBADENDPOINT || status == EBADTAG) << status;
  int index;
  EXPECT_EQ(AM_MapAny(here_->ep, &index, name, right_tag), AM_ERR_NOT_SENT);
}

TEST_P(Messages, WaitEndsWithAnEventAndRunsNoHandler) {
  ASSERT_EQ(AM_SetEventMask(here_->bundle, AM_NOTEMPTY), AM_OK);
  EXPECT_EQ(AM_WaitFor(here_->bundle, 0.01), AM_ERR_NOT_SENT);
  ASSERT_EQ(AM_SetSpin(here_->bundle, 0), AM_OK);
  ASSERT_EQ(AM_Request4(here_->ep, to_, echo_words, 1, 2, 3, 4), AM_OK);
  ASSERT_EQ(AM_Wait(here_->bundle), AM_OK);
  EXPECT_EQ(arrived.replies, 0);
  ASSERT_EQ(AM_Poll(here_->bundle), AM_OK);
  EXPECT_EQ(arrived.replies, 1);
}

TEST_P(Messages, HandlersOfASequentialBundleRunOnlyWhenItPolls) {
  static std::thread::id where;
  static bool has_run = false;
  has_run = false;
  here_->set(10, handler(+[](void*, int) {
               where = std::this_thread::get_id();
               has_run = true;
             }));
  Endpoint other(AM_PAR);
  const int to = other.map(here_->name);
  ASSERT_EQ(AM_Request1(other.ep, to, 10, 1), AM_OK);
  // The window fills up, because no handler runs while the bundle is not polled.
  ASSERT_EQ(AM_SetRequestWait(other.bundle, 0.05), AM_OK);
  for (int i = 0; i < 7; i++) ASSERT_EQ(AM_Request1(other.ep, to, 10, 1), AM_OK);
  EXPECT_EQ(AM_Request1(other.ep, to, 10, 1), AM_ERR_NOT_SENT);
  EXPECT_FALSE(has_run);
  ASSERT_TRUE(here_->poll_until([] { return has_run; }));
  EXPECT_EQ(where, std::this_thread::get_id());
}

namespace {

std::atomic<int> inside{0}, most_inside{0}, entered{0};

void crowded(void*, int) {
  const int now = ++inside;
  for (int seen = most_inside; now > seen && !most_inside.compare_exchange_weak(seen, now);) {
  }
  std::this_thread::yield();
  entered++;
  inside--;
}

// A handler that returns when two of its kind run at the same time, or after a while.
std::atomic<bool> met{false};
void meets_another(void*, int) {
  inside++;
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (inside < 2 && !met && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  if (inside >= 2) met = true;
  inside--;
}

}  // namespace

TEST_P(Messages, HandlersOfABundleRunOneAtATime) {
  const Endpoint crowd(AM_PAR, 8);
  crowd.set(10, handler(&crowded));
  inside = most_inside = entered = 0;
  const int to = here_->map(crowd.name);
  std::atomic<bool> is_over{false};
  std::thread pollers[2];
  for (auto& each : pollers) {
    each = std::thread([&] {
      while (!is_over) AM_Poll(crowd.bundle);
    });
  }
  for (int i = 0; i < 500; i++) ASSERT_EQ(AM_Request1(here_->ep, to, 10, i), AM_OK);
  ASSERT_TRUE(here_->poll_until([] { return entered == 500; }));
  is_over = true;
  for (auto& each : pollers) each.join();
  EXPECT_EQ(most_inside, 1);
}

TEST_P(Messages, HandlersOfTwoBundlesRunBesideEachOther) {
  const Endpoint one(AM_SEQ), other(AM_SEQ);
  inside = 0;
  met = false;
  one.set(10, handler(&meets_another));
  other.set(10, handler(&meets_another));
  ASSERT_EQ(AM_Request1(here_->ep, here_->map(one.name), 10, 0), AM_OK);
  ASSERT_EQ(AM_Request1(here_->ep, here_->map(other.name), 10, 0), AM_OK);
  std::thread poller([&] { one.poll_until([] { return met.load(); }); });
  EXPECT_TRUE(other.poll_until([] { return met.load(); }));
  poller.join();
}
