// A message that has arrived is handled although its sender has ended meanwhile.
#include <atomic>
#include <thread>

#include "am/am_processes.h"

using namespace iw::am_test;
using iw::testing::Child;

namespace {

constexpr int requests = 100;
std::atomic<int> handled{0}, replies{0}, returned{0};

void on_request(void*, int number) { handled += number == handled; }
void on_reply(void*) { replies++; }
void on_returned(int, op_t, const am_returned_t*) { returned++; }
void on_question(void* token) {
  handled++;
  EXPECT_EQ(AM_Reply0(token, 2), AM_OK);
}

}  // namespace

// Sends requests and ends.
ROLE(asks_and_ends) {
  const Library library;
  const Endpoint here(AM_SEQ, requests);
  const int to = here.map(parent.hear_value<en_t>());
  for (int i = 0; i < requests; i++) {
    if (AM_Request1(here.ep, to, 1, i) != AM_OK) return 1;
  }
  return 0;
}

// Answers one request and ends.
ROLE(answers_and_ends) {
  const Library library;
  const Endpoint here;
  here.set(1, handler(&on_question));
  parent.say_value(here.name);
  return here.poll_until([] { return handled == 1; }) ? 0 : 1;
}

// Answers one request, and waits until the library has heard that the reply was handled.
ROLE(answers_and_flushes) {
  const Library library;
  const Endpoint here;
  here.set(1, handler(&on_question));
  parent.say_value(here.name);
  if (!here.poll_until([] { return handled == 1; })) return 1;
  if (AM_Flush(here.bundle, 0) != AM_ERR_NOT_SENT) return 2;
  parent.say("answered");
  return AM_Flush(here.bundle, 30) == AM_OK ? 0 : 3;
}

class LastMessages : public ::testing::TestWithParam<const char*> {
 protected:
  LastMessages() {
    setenv("IW_FABRIC", GetParam(), 1);
    handled = replies = returned = 0;
    library_ = std::make_unique<Library>();
    here_ = std::make_unique<Endpoint>();
    here_->set(0, handler(&on_returned));
    here_->set(1, handler(&on_request));
    here_->set(2, handler(&on_reply));
  }
  std::unique_ptr<Library> library_;
  std::unique_ptr<Endpoint> here_;
};
INSTANTIATE_TEST_SUITE_P(Over, LastMessages,
                         ::testing::ValuesIn(iw::testing::transports({"shm", "tcp"})),
                         [](const auto& each) { return std::string(each.param); });

// This process polls only after the other has ended.
// [AM-16]
TEST_P(LastMessages, AreHandledThoughTheirSenderHasEnded) {
  Child child("asks_and_ends");
  child.line().say_value(here_->name);
  ASSERT_EQ(child.wait_for_end(), 0);
  EXPECT_TRUE(here_->poll_until([] { return handled == requests; })) << handled << " arrived";
}

TEST_P(LastMessages, AreAnswersThoughTheirSenderHasEnded) {
  Child child("answers_and_ends");
  const int to = here_->map(child.line().hear_value<en_t>());
  ASSERT_EQ(AM_Request0(here_->ep, to, 1), AM_OK);
  ASSERT_EQ(child.wait_for_end(), 0);
  EXPECT_TRUE(here_->poll_until([] { return replies + returned == 1; }));
  EXPECT_EQ(returned, 0) << "it was answered";
}

// The reply is handled only when this process polls.
// [AM-9] [AM-10]
TEST_P(LastMessages, OfRepliesAreFlushedWhenTheyAreHandled) {
  Child child("answers_and_flushes");
  const int to = here_->map(child.line().hear_value<en_t>());
  ASSERT_EQ(AM_Request0(here_->ep, to, 1), AM_OK);
  EXPECT_EQ(child.line().hear_text(), "answered");
  EXPECT_TRUE(here_->poll_until([] { return replies == 1; }));
  // This process does not poll again. A poll that finds nothing would acknowledge the reply, also
  // without being asked.
  EXPECT_EQ(child.wait_for_end(), 0);
}

TEST_P(LastMessages, AreFlushedWhenAllRequestsAreHandled) {
  Endpoint there(AM_SEQ);
  there.set(1, handler(&on_request));
  const int to = here_->map(there.name);
  for (int i = 0; i < 8; i++) ASSERT_EQ(AM_Request1(here_->ep, to, 1, i), AM_OK);
  EXPECT_EQ(AM_Flush(here_->bundle, 0), AM_ERR_NOT_SENT);
  EXPECT_EQ(handled, 0);
  std::thread poller([&] { EXPECT_TRUE(there.poll_until([] { return handled == 8; })); });
  EXPECT_EQ(AM_Flush(here_->bundle, 30), AM_OK);
  EXPECT_EQ(handled, 8);
  poller.join();
  EXPECT_EQ(AM_Flush(here_->bundle, -1), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_Flush(nullptr, 1), AM_ERR_BAD_ARG);
}

TEST_P(LastMessages, ToOneWhoDiesAreFlushedWhenTheyComeBack) {
  Child child("answers_and_ends");
  const int to = here_->map(child.line().hear_value<en_t>());
  child.stop();
  ASSERT_EQ(AM_Request0(here_->ep, to, 1), AM_OK);
  child.kill();
  EXPECT_EQ(AM_Flush(here_->bundle, 30), AM_OK);
  EXPECT_EQ(returned, 1);
}
