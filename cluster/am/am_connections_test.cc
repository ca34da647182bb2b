// How many connections processes have: one between two processes, and none with a dead process.
#include <sys/socket.h>

#include <atomic>
#include <deque>
#include <filesystem>

#include "am/am_processes.h"
#include "am/bundle.h"

using namespace iw::am_test;
using iw::testing::Child;
using iw::testing::Line;

namespace {

constexpr int processes = 5;

enum : handler_t { question = 1, answer };
std::atomic<int> answers = 0;
void on_question(void* token) { AM_Reply0(token, answer); }
void on_answer(void*) { answers++; }

// Over shared memory, the fabric's lifelines are the only sockets with other processes.
int connections() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    const int fd = std::stoi(entry.path().filename());
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0) continue;
    count += peer.ss_family == AF_INET || peer.ss_family == AF_INET6;
  }
  return count;
}

// Exchanges a message with each process whose name it is told.
int talk_to_all(const Line& parent, const Endpoint& here) {
  const int others = parent.hear_value<int>();
  answers = 0;
  for (int i = 0; i < others; i++) {
    const int to = here.map(parent.hear_value<en_t>());
    if (AM_Request0(here.ep, to, question) != AM_OK) return -1;
  }
  return here.poll_until([&] { return answers == others; }) ? others : -1;
}

}  // namespace

ROLE(connected) {
  const Library library;
  const Endpoint here(AM_PAR);
  here.set(question, handler(&on_question));
  here.set(answer, handler(&on_answer));
  parent.say_value(here.name);
  for (std::string order; (order = parent.hear_text()) != "end";) {
    if (order == "talk") parent.say_value(talk_to_all(parent, here));
    if (order == "count") parent.say_value(connections());
  }
  return 0;
}

// The other process becomes a peer, and dies before a connection with it exists.
TEST(Connections, WithOneWhoDiesMeanwhileAreRefusedAtOnce) {
  using namespace iw::fabric;
  const Library library;
  const Endpoint here;
  Child there("echo");
  Address address;
  std::uint32_t number = 0;
  ASSERT_TRUE(iw::am::parse(there.line().hear_value<en_t>(), &address, &number));
  Worker& worker = here.bundle->worker();
  PeerId peer = 0;
  const Deadline deadline = Clock::now() + std::chrono::seconds(30);
  ASSERT_EQ(worker.connect(address, deadline, &peer), Status::ok);
  there.kill();
  ASSERT_TRUE(here.poll_until([&] { return !worker.is_alive(peer); }));
  iw::am::Connection* connection = nullptr;
  EXPECT_EQ(here.bundle->connect_to_peer(here.ep, peer, number, deadline, &connection),
            AM_ERR_NOT_SENT);
  EXPECT_LT(Clock::now(), deadline) << "it waited for an answer of the dead";
}

// [AM-3]
TEST(Connections, OfFiveProcessesAreOneAPairAndThoseOfTheDeadAreClosed) {
  setenv("IW_FABRIC", "shm", 1);
  std::deque<Child> all;
  std::vector<en_t> names;
  for (int i = 0; i < processes; i++) {
    names.push_back(all.emplace_back("connected").line().hear_value<en_t>());
  }
  for (std::size_t i = 0; i < all.size(); i++) {
    all[i].line().say(std::string("talk"));
    all[i].line().say_value(processes - 1);
    for (std::size_t other = 0; other < all.size(); other++) {
      if (other != i) all[i].line().say_value(names[other]);
    }
    ASSERT_EQ(all[i].line().hear_value<int>(), processes - 1);
  }
  const auto ends = [&] {
    int sum = 0;
    for (const Child& each : all) {
      each.line().say(std::string("count"));
      sum += each.line().hear_value<int>();
    }
    return sum;
  };
  EXPECT_EQ(ends(), processes * (processes - 1));  // two ends each
  all.back().kill();
  all.pop_back();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (ends() > (processes - 1) * (processes - 2) &&
         std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_EQ(ends(), (processes - 1) * (processes - 2));
  for (const Child& each : all) each.line().say(std::string("end"));
  for (Child& each : all) EXPECT_EQ(each.wait_for_end(), 0);
}
