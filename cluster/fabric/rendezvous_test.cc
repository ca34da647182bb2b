// Processes of a job meet by files, by TCP and under mpirun, and then talk.
#include "fabric/rendezvous.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "fabric/stream.h"
#include "testing/children.h"

using namespace iw::fabric;
using iw::testing::Child;
using namespace std::chrono_literals;

namespace {

Deadline soon() { return Clock::now() + 30s; }

// Two rounds, then a message to the next in the circle; 0 if the one before has sent one, too.
int meet_and_talk() {
  std::string error;
  const auto met = Rendezvous::open(soon(), &error);
  if (!met) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  const auto fabric = Fabric::open({}, &error);
  Status status;
  const auto worker = fabric->add_worker(&status);
  unsigned heard = ~0u;
  worker->set_handler(
      0,
      [](void* context, const Message& message) {
        std::memcpy(context, message.header.data(), sizeof heard);
      },
      &heard);
  std::vector<std::vector<std::byte>> all;
  if (met->exchange(worker->address().bytes, soon(), &all) != Status::ok) return 2;
  const unsigned rank = met->rank(), size = met->size();
  if (all.size() != size) return 3;
  Address next;
  std::memcpy(next.bytes.data(), all[(rank + 1) % size].data(), next.bytes.size());
  PeerId peer;
  if (worker->connect(next, soon(), &peer) != Status::ok) return 4;
  worker->send(peer, 0, std::as_bytes(std::span(&rank, 1)), {}, nullptr);
  if (worker->wait([&] { return heard == (rank + size - 1) % size; }, soon()) != Status::ok)
    return 5;
  // Nobody leaves before all are done.
  return met->exchange({}, soon(), &all) == Status::ok && all[0].empty() ? 0 : 6;
}

std::unique_ptr<Child> member(const std::string& means, unsigned rank, unsigned size) {
  return std::make_unique<Child>(
      "member", std::map<std::string, std::string>{{"IW_RENDEZVOUS", means},
                                                   {"IW_RANK", std::to_string(rank)},
                                                   {"IW_SIZE", std::to_string(size)}});
}

int run_job(const std::string& means, unsigned size) {
  std::vector<std::unique_ptr<Child>> job;
  for (unsigned rank = 0; rank < size; rank++) job.push_back(member(means, rank, size));
  int worst = 0;
  for (const auto& each : job) worst = std::max(worst, std::abs(each->wait_for_end()));
  return worst;
}

// Of the ephemeral range, and free a moment ago.
unsigned free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&at), length), 0);
  getsockname(fd, reinterpret_cast<sockaddr*>(&at), &length);
  close(fd);
  return ntohs(at.sin_port);
}

}  // namespace

ROLE(member) { return meet_and_talk(); }

TEST(Rendezvous, ByFiles) {
  char folder[] = "/tmp/iw-rendezvous-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  EXPECT_EQ(run_job(std::string("file:") + folder, 3), 0);
  std::filesystem::remove_all(folder);
}

TEST(Rendezvous, ByTcp) {
  EXPECT_EQ(run_job("tcp:127.0.0.1:" + std::to_string(free_port()), 3), 0);
}

TEST(Rendezvous, StrangersHoldUpNobody) {
  const unsigned port = free_port();
  const std::string means = "tcp:127.0.0.1:" + std::to_string(port);
  const auto first = member(means, 0, 3);
  std::vector<int> strangers;
  const std::uint32_t no_rank[] = {0, 3, ~0u};
  for (int i = 0; i < 24; i++) {
    int fd = -1;
    while (connect_to(htonl(INADDR_LOOPBACK), htons(port), soon(), &fd) == Status::peer_dead) {
      close(fd);  // it does not listen yet
    }
    strangers.push_back(fd);
    const auto said = std::as_bytes(std::span(no_rank)).subspan(4 * (i % 3), 4);
    if (i % 2 == 0) continue;  // says nothing
    EXPECT_EQ(send_all(fd, i % 4 == 1 ? said : said.first(1), soon()), Status::ok);
  }
  const auto second = member(means, 1, 3), third = member(means, 2, 3);
  for (const auto* each : {&first, &second, &third}) EXPECT_EQ((*each)->wait_for_end(), 0);
  for (const int fd : strangers) close(fd);
}

TEST(Rendezvous, ByPmixUnderMpirun) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command =
      "timeout 60 mpirun -n 3 --allow-run-as-root --oversubscribe '" + self + "' --role member";
  EXPECT_EQ(system(command.c_str()), 0);
}

TEST(Rendezvous, AProcessWithoutOneIsAlone) { EXPECT_EQ(meet_and_talk(), 0); }

TEST(Rendezvous, WhatTheEnvironmentLacksIsSaid) {
  char folder[] = "/tmp/iw-rendezvous-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  setenv("IW_RENDEZVOUS", (std::string("file:") + folder).c_str(), 1);
  setenv("IW_RANK", "3", 1);
  setenv("IW_SIZE", "3", 1);
  std::string error;
  EXPECT_EQ(Rendezvous::open(soon(), &error), nullptr);
  EXPECT_NE(error.find("IW_RANK"), std::string::npos) << error;
  setenv("IW_RANK", "1", 1);
  const auto met = Rendezvous::open(soon(), &error);
  std::vector<std::vector<std::byte>> all;
  EXPECT_EQ(met->exchange({}, Clock::now() + 20ms, &all), Status::timed_out);
  std::filesystem::remove_all(folder);
  for (const char* name : {"IW_RENDEZVOUS", "IW_RANK", "IW_SIZE"}) unsetenv(name);
}
