// An update's way from the call into the readers' queues, beside that of plain Active Messages with
// as many words and bytes to as many processes: until the first, half and the last of them have it,
// and how long the sender itself is at it; of those that poll also until their programs see it. The
// sender's program waits without sleeping until all have it and all answers are there, and a
// little.
#include "containers/fan_out.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <list>
#include <thread>

#include "containers/board.h"

namespace bench {

using namespace iw::containers;

namespace {

constexpr int turns = 3, sendings = 600;

struct Times {
  double first_us = 0, median_us = 0, last_us = 0, call_us = 0;
};

using Instant = std::chrono::steady_clock::time_point;

double us_between(Instant begin, Instant end) {
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

// Of one sending.
Times times_of(const Board& board, int receivers, Instant begin, Instant sent) {
  std::vector<double> us;
  for (int i = 0; i < receivers; i++) us.push_back(us_between(begin, board.noted(i)));
  const auto [least, most] = std::ranges::minmax(us);
  return {least, median(us), most, us_between(begin, sent)};
}

Times medians(const std::vector<Times>& of) {
  const auto median_of = [&](double Times::*which) {
    std::vector<double> us;
    for (const Times& each : of) us.push_back(each.*which);
    return median(us);
  };
  return {median_of(&Times::first_us), median_of(&Times::median_us), median_of(&Times::last_us),
          median_of(&Times::call_us)};
}

// Until the threads that took the last answers are done with their locks, and sleep where they do.
void rest() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
  while (std::chrono::steady_clock::now() < end) continue;
}

// `send` to all; `settle` waits until it is answered.
template <typename Send, typename Settle>
Times measure_sendings(Board& board, int receivers, const Send& send, Settle settle) {
  const int warm_up = sendings / 10 + 1;
  std::vector<Times> samples;
  for (int i = 1; i <= warm_up + sendings; i++) {
    const auto begin = std::chrono::steady_clock::now();
    send(i);
    const auto sent = std::chrono::steady_clock::now();
    board.wait(receivers, i);
    settle();
    rest();
    if (i > warm_up) samples.push_back(times_of(board, receivers, begin, sent));
  }
  return medians(samples);
}

std::list<ChildServer> start(const Board& board, const char* role, int receivers, Manner manner) {
  std::list<ChildServer> all;
  for (int i = 0; i < receivers; i++) {
    all.push_back(in_role(role, format("%d,%d,%d", board.fd(), i, static_cast<int>(manner))));
  }
  return all;
}

std::atomic<int> answered = 0;
void on_answer(void*, int, int, int) { answered++; }

Times send_messages(Board& board, int receivers, Manner manner) {
  board.clear();
  const auto others = start(board, "answerer", receivers, manner);
  const MessageEnd here;
  AM_SetHandler(here.endpoint, answer_handler, reinterpret_cast<am_handler_fn>(&on_answer));
  int index = 0;
  for (const ChildServer& each : others) {
    en_t name;
    AM_NameFromCarried(each.address().c_str(), &name);
    if (AM_Map(here.endpoint, index++, name, message_tag) != AM_OK) fail("AM_Map");
  }
  answered = 0;
  return measure_sendings(
      board, receivers,
      [&](std::int64_t number) {
        const std::int64_t arguments[] = {0, number};
        for (int to = 0; to < receivers; to++) {
          if (AM_RequestI8(here.endpoint, to, update_handler, arguments, sizeof arguments, 1, 2, 3,
                           4, 5, 6, 7, 8) != AM_OK) {
            fail("AM_RequestI8");
          }
        }
      },
      [&, due = 0]() mutable {
        due += receivers;
        while (answered < due) continue;
      });
}

Times send_updates(Factory& factory, Board& board, int receivers, Manner manner) {
  board.clear();
  const auto writer = factory.make_writer<Numbers>("numbers", std::make_shared<Numbers>(), roomy());
  writer->call<&Numbers::push_back>(0);
  const auto readers = start(board, "reader", receivers, manner);
  await_answers(*writer);
  return measure_sendings(
      board, receivers, [&](std::int64_t number) { writer->call<&Numbers::set>(0u, number); },
      [&] { await_answers(*writer); });
}

}  // namespace

// Both take turns; what is written are the medians over them.
void measure_fan_out(Factory& factory, const std::string& transport, Table* table) {
  Board board;
  for (const Manner manner : {Manner::sleeping, Manner::polling, Manner::showing}) {
    const char* mode = manner == Manner::sleeping ? "blocking" : "polling";
    const char* what = manner == Manner::showing ? "shows" : "has";
    double alone_us = 0;
    for (const int receivers : {1, 4, 16}) {
      // A receiver that polls without a core of its own waits for the scheduler.
      const int cores = static_cast<int>(std::thread::hardware_concurrency());
      if (manner != Manner::sleeping && receivers + 1 > cores) break;
      std::vector<Times> plain, shipped;
      for (int turn = 0; turn < turns; turn++) {
        plain.push_back(send_messages(board, receivers, manner));
        shipped.push_back(send_updates(factory, board, receivers, manner));
      }
      const Times am = medians(plain), containers = medians(shipped);
      if (receivers == 1) alone_us = am.last_us;
      for (const auto& [system, is] : {std::pair("am", am), std::pair("containers", containers)}) {
        if (manner == Manner::showing) {
          table->shown(receivers, transport, system, is.last_us);
        } else {
          table->rows(receivers, transport, mode, system,
                      {is.first_us, is.median_us, is.last_us, is.call_us});
        }
      }
      std::printf(
          "%s, %s, %d readers: until the last %s it %.2fx of as many messages, %.2fx of one\n",
          transport.c_str(), mode, receivers, what, containers.last_us / am.last_us,
          containers.last_us / alone_us);
    }
  }
}

}  // namespace bench
