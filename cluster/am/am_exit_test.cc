// A program calls exit() without AM_Terminate while its own and the library's threads are at work.
// They work until the process ends, and the process ends with its status.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <thread>

#include "am/am_processes.h"

using namespace iw::am_test;
using iw::testing::Child;

namespace {

enum : handler_t { question = 1, answer };
std::atomic<int> questions = 0, answers = 0, waits = 0;
void on_question(void* token) {
  questions++;
  AM_Reply0(token, answer);
}
void on_answer(void*) { answers++; }
void on_returned(int, op_t, const am_returned_t*) {}

// Never destroyed, because its thread uses it until the process ends.
Endpoint& new_endpoint(int type) {
  static auto* const all = new std::deque<Endpoint>;
  Endpoint& made = all->emplace_back(type);
  made.set(question, handler(&on_question));
  made.set(answer, handler(&on_answer));
  made.set(0, handler(&on_returned));
  return made;
}

void ask_for_ever(const Endpoint& here, int to) {
  for (;;) {
    AM_Request0(here.ep, to, question);
    AM_Poll(here.bundle);
  }
}

void wait_for_ever(const Endpoint& here) {
  AM_SetEventMask(here.bundle, AM_NOTEMPTY);
  for (;;) {
    AM_WaitFor(here.bundle, 0.0001);
    AM_Poll(here.bundle);
    waits++;
  }
}

// Whether each thread still makes progress.
bool all_go_on() {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::seconds(30);
  for (const std::atomic<int>* each : {&questions, &answers, &waits}) {
    const int enough = *each + 100;
    while (*each < enough) {
      if (Clock::now() > deadline) return false;
      std::this_thread::yield();
    }
  }
  return true;
}

}  // namespace

// Two threads ask and poll, one waits, and the library's threads answer.
ROLE(exits_while_busy) {
  // Runs after the destructors of all objects that were made later.
  std::atexit([] {
    if (!all_go_on()) std::_Exit(8);
  });
  if (AM_Init() != AM_OK) return 1;
  const Endpoint& asks = new_endpoint(AM_SEQ);
  const Endpoint& answers_by_itself = new_endpoint(AM_PAR);
  const Endpoint& waits_for_some = new_endpoint(AM_SEQ);
  const int to_parent = asks.map(parent.hear_value<en_t>());
  const int to_self = asks.map(answers_by_itself.name);
  std::thread(ask_for_ever, std::cref(asks), to_parent).detach();
  std::thread(ask_for_ever, std::cref(asks), to_self).detach();
  std::thread(wait_for_ever, std::cref(waits_for_some)).detach();
  std::exit(all_go_on() ? 7 : 9);
}

class Exit : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Over, Exit, ::testing::ValuesIn(iw::testing::transports({"shm", "tcp"})),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(Exit, WithBusyThreadsIsAnOrdinaryOne) {
  constexpr int times = 10;
  setenv("IW_FABRIC", GetParam(), 1);
  const Library library;
  const Endpoint here(AM_PAR);
  here.set(question, handler(&on_question));
  here.set(0, handler(&on_returned));
  for (int i = 0; i < times; i++) {
    Child busy("exits_while_busy");
    busy.line().say_value(here.name);
    ASSERT_EQ(busy.wait_for_end(), 7) << i;
  }
}
