// Processes of a job meet by files, by TCP and under mpirun, and then talk.
#include "fabric/rendezvous.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "fabric/hello_messages.h"
#include "fabric/job_key.h"
#include "fabric/stream.h"
#include "testing/children.h"

using namespace iw::fabric;
using iw::testing::Child;
using namespace std::chrono_literals;

namespace {

Deadline soon() { return Clock::now() + 30s; }

// Two rounds, then a message to the next in the circle; 0 if the one before has sent one, too.
int talk(const std::unique_ptr<Rendezvous>& met) {
  std::string error;
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

int meet_and_talk() {
  std::string error;
  const auto met = Rendezvous::open(soon(), &error);
  if (met) return talk(met);
  std::fprintf(stderr, "%s\n", error.c_str());
  return 1;
}

class Folder {
 public:
  Folder() { EXPECT_NE(mkdtemp(path_), nullptr); }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string means() const { return std::string("file:") + path_; }
  std::string file(const std::string& name) const { return std::string(path_) + "/" + name; }

 private:
  char path_[32] = "/tmp/iw-rendezvous-XXXXXX";
};

// So many descriptors more than there are now, until it is destroyed.
class FewDescriptors {
 public:
  explicit FewDescriptors(int more) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = dup(0);
    close(next);
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(next + more);
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

double processor_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

// Why there is no rendezvous by that for one of two; "": there is.
std::string refusal(const std::string& means) {
  setenv("IW_RENDEZVOUS", means.c_str(), 1);
  setenv("IW_RANK", "1", 1);
  setenv("IW_SIZE", "2", 1);
  std::string error;
  Rendezvous::open(Clock::now(), &error);
  for (const char* name : {"IW_RENDEZVOUS", "IW_RANK", "IW_SIZE"}) unsetenv(name);
  return error;
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

// Of the ephemeral range. The system gives the port to no other process until the test ends: a
// socket that does not listen is bound to it, and the room's listeners may share such a port.
unsigned free_port() {
  const int held = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(held, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  EXPECT_EQ(bind(held, reinterpret_cast<sockaddr*>(&at), length), 0);
  getsockname(held, reinterpret_cast<sockaddr*>(&at), &length);
  return ntohs(at.sin_port);
}

}  // namespace

ROLE(member) { return meet_and_talk(); }

TEST(Rendezvous, ByAFolderThatIsNotThereSaysSo) {
  EXPECT_EQ(refusal("file:/nowhere/at-all"),
            "IW_RENDEZVOUS: the folder /nowhere/at-all: No such file or directory");
}

TEST(Rendezvous, ByFiles) {
  const Folder folder;
  EXPECT_EQ(run_job(folder.means(), 3), 0);
}

TEST(Rendezvous, ByFilesInAFolderThatEarlierJobsHaveUsed) {
  const Folder folder;
  for (const unsigned size : {3, 2, 3, 4}) EXPECT_EQ(run_job(folder.means(), size), 0) << size;
}

// One process of a job, alone in a folder where all that it waits for is there from an earlier job.
// A link where an unfinished file will be, and one where a file will be looked for.
TEST(Rendezvous, FilesAreTheUsersOnlyAndFollowNoLinks) {
  const Folder folder, elsewhere;
  const std::string kept = elsewhere.file("kept");
  std::ofstream(kept) << "unchanged";
  for (const char* name : {"hello.0.new", "hello.1.new", "0.0.new", "hello.1"}) {
    std::filesystem::create_symlink(kept, folder.file(name));
  }
  EXPECT_EQ(run_job(folder.means(), 2), 0);
  std::string text;
  std::ifstream(kept) >> text;
  EXPECT_EQ(text, "unchanged");
  for (const auto& each : std::filesystem::directory_iterator(folder.file(""))) {
    EXPECT_TRUE(each.is_regular_file() && !each.is_symlink()) << each;
    constexpr auto users = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
    EXPECT_EQ(each.status().permissions(), users) << each;
  }
}

TEST(Rendezvous, FilesOfAnEarlierJobAreNoneOfThisOne) {
  const Folder folder;
  ASSERT_EQ(run_job(folder.means(), 2), 0);
  ASSERT_TRUE(std::filesystem::exists(folder.file("0.1")));
  setenv("IW_RENDEZVOUS", folder.means().c_str(), 1);
  setenv("IW_RANK", "0", 1);
  setenv("IW_SIZE", "2", 1);
  std::string error;
  const auto met = Rendezvous::open(soon(), &error);
  std::vector<std::vector<std::byte>> all;
  EXPECT_EQ(met->exchange({}, Clock::now() + 50ms, &all), Status::timed_out);
  for (const char* name : {"IW_RENDEZVOUS", "IW_RANK", "IW_SIZE"}) unsetenv(name);
}

TEST(Rendezvous, ByTcp) {
  EXPECT_EQ(run_job("tcp:127.0.0.1:" + std::to_string(free_port()), 3), 0);
}

namespace {

// Connects as soon as somebody listens.
int call(unsigned port) {
  int fd = -1;
  while (connect_to(htonl(INADDR_LOOPBACK), htons(port), soon(), &fd) == Status::peer_dead) {
    close(fd);
  }
  return fd;
}

}  // namespace

TEST(Rendezvous, StrangersHoldUpNobody) {
  const unsigned port = free_port();
  const std::string means = "tcp:127.0.0.1:" + std::to_string(port);
  const auto first = member(means, 0, 3);
  std::vector<int> strangers;
  const std::uint32_t no_rank[] = {0, 3, ~0u};
  for (int i = 0; i < 24; i++) {
    const int fd = strangers.emplace_back(call(port));
    const auto said = std::as_bytes(std::span(no_rank)).subspan(4 * (i % 3), 4);
    if (i % 2 == 0) continue;  // says nothing
    EXPECT_EQ(send_all(fd, i % 4 == 1 ? said : said.first(1), soon()), Status::ok);
  }
  const auto second = member(means, 1, 3), third = member(means, 2, 3);
  for (const auto* each : {&first, &second, &third}) EXPECT_EQ((*each)->wait_for_end(), 0);
  for (const int fd : strangers) close(fd);
}

// Its own socket and those of two others.
ROLE(first_with_three_descriptors) {
  std::unique_ptr<Rendezvous> met;
  std::string error;
  {
    const FewDescriptors few(3);
    met = Rendezvous::open(soon(), &error);
  }
  return met ? talk(met) : 1;
}

class FewDescriptorsLeft : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP()
        << "the sanitizer looks at memory by way of a pipe, and where it gets none it takes "
           "a sound object for a broken one";
#endif
  }
};

TEST_F(FewDescriptorsLeft, StrangersKeepNoneFromTheOthers) {
  const unsigned port = free_port();
  const std::map<std::string, std::string> as_first{
      {"IW_RENDEZVOUS", "tcp:127.0.0.1:" + std::to_string(port)},
      {"IW_RANK", "0"},
      {"IW_SIZE", "3"}};
  Child first("first_with_three_descriptors", as_first);
  std::vector<int> strangers;
  for (int i = 0; i < 2; i++) strangers.push_back(call(port));  // say nothing
  const auto second = member(as_first.at("IW_RENDEZVOUS"), 1, 3);
  const auto third = member(as_first.at("IW_RENDEZVOUS"), 2, 3);
  EXPECT_EQ(first.wait_for_end(), 0);
  for (const auto* each : {&second, &third}) EXPECT_EQ((*each)->wait_for_end(), 0);
  for (const int fd : strangers) close(fd);
}

// Says why it did not meet the others, and the processor time that it used.
ROLE(first_with_one_descriptor) {
  std::string error = "it met them";
  {
    const FewDescriptors few(1);
    const auto met = Rendezvous::open(Clock::now() + 2s, &error);
  }
  parent.say(error);
  parent.say_value(processor_seconds());
  return 0;
}

TEST_F(FewDescriptorsLeft, WhoHasNoneForAnotherSaysSoAndSleepsMeanwhile) {
  const unsigned port = free_port();
  Child first("first_with_one_descriptor",
              {{"IW_RENDEZVOUS", "tcp:127.0.0.1:" + std::to_string(port)},
               {"IW_RANK", "0"},
               {"IW_SIZE", "2"}});
  const int second = call(port);
  const std::string error = first.line().hear_text();
  EXPECT_NE(error.find("ulimit -n"), std::string::npos) << error;
  EXPECT_LT(first.line().hear_value<double>(), 1) << "of two seconds";
  EXPECT_EQ(first.wait_for_end(), 0);
  close(second);
}

namespace {

int run_under_mpirun(const std::string& role, int processes,
                     const std::map<std::string, std::string>& environment = {}) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  std::string command;
  for (const auto& [name, value] : environment) command += name + "='" + value + "' ";
  command += "timeout -k 5 60 mpirun -n " + std::to_string(processes) +
             " --allow-run-as-root --oversubscribe '" + self + "' --role " + role;
  return system(command.c_str());
}

}  // namespace

TEST(Rendezvous, ByPmixUnderMpirun) { EXPECT_EQ(run_under_mpirun("member", 3), 0); }

// Writes into IW_TEST_FILE why it did not meet the others. (An mpirun that continued would now and
// then hang in its own library, Debian 12's, since a process left while it was being let in.)
ROLE(member_of_a_stopped_mpirun) {
  const pid_t mpirun = getppid();
  std::string error = "it met them";
  kill(mpirun, SIGSTOP);
  const auto met = Rendezvous::open(Clock::now() + 200ms, &error);
  std::ofstream(std::getenv("IW_TEST_FILE")) << error;
  kill(mpirun, SIGKILL);
  return 0;
}

TEST(Rendezvous, ALauncherThatDoesNotAnswerIsNotWaitedForBeyondTheDeadline) {
  const Folder folder;  // for mpirun, too, which leaves its files behind
  const std::string file = folder.file("error");
  run_under_mpirun("member_of_a_stopped_mpirun", 1,
                   {{"IW_TEST_FILE", file}, {"TMPDIR", folder.file("")}});
  std::string error;
  std::getline(std::ifstream(file), error);
  EXPECT_NE(error.find("does not answer"), std::string::npos) << error;
}

TEST(Rendezvous, AProcessWithoutOneIsAlone) { EXPECT_EQ(meet_and_talk(), 0); }

TEST(Rendezvous, WhatTheEnvironmentLacksIsSaid) {
  const Folder folder;
  setenv("IW_RENDEZVOUS", folder.means().c_str(), 1);
  setenv("IW_RANK", "3", 1);
  setenv("IW_SIZE", "3", 1);
  std::string error;
  EXPECT_EQ(Rendezvous::open(soon(), &error), nullptr);
  EXPECT_NE(error.find("IW_RANK"), std::string::npos) << error;
  setenv("IW_RANK", "1", 1);
  const auto met = Rendezvous::open(soon(), &error);
  std::vector<std::vector<std::byte>> all;
  EXPECT_EQ(met->exchange({}, Clock::now() + 20ms, &all), Status::timed_out);
  for (const char* name : {"IW_RENDEZVOUS", "IW_RANK", "IW_SIZE"}) unsetenv(name);
}

// Proves the job key to the others, who can tell only if theirs is the same.
ROLE(member_with_a_key) {
  std::string error;
  const auto met = Rendezvous::open(soon(), &error);
  JobKey key;
  if (!met || !find_job_key(&key, &error) || !key.is_secret()) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  std::vector<std::vector<std::byte>> all;
  const Proof proof = key.prove("test", {});
  if (met->exchange(proof, soon(), &all) != Status::ok) return 2;
  const auto is_same = [&](const auto& each) { return std::ranges::equal(each, proof); };
  return std::all_of(all.begin(), all.end(), is_same) ? 0 : 3;
}

TEST(Rendezvous, TheProcessesOfAFolderHaveOneKey) {
  const Folder folder;
  std::vector<std::unique_ptr<Child>> job;
  for (const char* rank : {"0", "1", "2"}) {
    const std::map<std::string, std::string> as{
        {"IW_RENDEZVOUS", folder.means()}, {"IW_RANK", rank}, {"IW_SIZE", "3"}};
    job.push_back(std::make_unique<Child>("member_with_a_key", as));
  }
  for (const auto& each : job) EXPECT_EQ(each->wait_for_end(), 0);
  EXPECT_TRUE(std::filesystem::exists(folder.file("job.key")));
}

TEST(Rendezvous, TheProcessesUnderMpirunHaveOneKey) {
  EXPECT_EQ(run_under_mpirun("member_with_a_key", 3), 0);
}

// Says why it did not meet the others.
ROLE(stranger_to_the_job) {
  std::string error = "it met them";
  Rendezvous::open(soon(), &error);
  parent.say(error);
  return 0;
}

// [HELLO-3]
TEST(Rendezvous, ByTcpAProcessWithAnotherKeyOrWithNoneIsRefusedAndTheRestMeet) {
  const std::string means = "tcp:127.0.0.1:" + std::to_string(free_port());
  const auto as = [&](const std::string& rank, const std::string& key) {
    std::map<std::string, std::string> environment{
        {"IW_RENDEZVOUS", means}, {"IW_RANK", rank}, {"IW_SIZE", "2"}};
    if (!key.empty()) environment["IW_CLUSTER_KEY"] = key;
    return environment;
  };
  const std::string ours(32, '1'), anothers(32, '2');
  Child first("member", as("0", ours));
  for (const std::string& key : {anothers, std::string()}) {
    const Child stranger("stranger_to_the_job", as("1", key));
    const std::string error = stranger.line().hear_text();
    EXPECT_NE(error.find("IW_CLUSTER_KEY"), std::string::npos) << error;
    EXPECT_EQ(error.find(ours), std::string::npos) << error;
  }
  Child second("member", as("1", ours));
  for (Child* each : {&first, &second}) EXPECT_EQ(each->wait_for_end(), 0);
}

// [HELLO-2] [HELLO-5]
TEST(Rendezvous, ByTcpAnotherVersionAndARecordedProofAreRefused) {
  const unsigned port = free_port();
  const std::string ours(32, '1');
  const std::map<std::string, std::string> as{
      {"IW_RENDEZVOUS", "tcp:127.0.0.1:" + std::to_string(port)},
      {"IW_RANK", "0"},
      {"IW_SIZE", "2"},
      {"IW_CLUSTER_KEY", ours}};
  Child first("member", as);
  Challenge answer;
  const auto answered = std::as_writable_bytes(std::span(&answer, 1));
  MeetingQuestion question;
  question.head.version = 7;
  const int other_version = call(port);
  EXPECT_EQ(send_all(other_version, bytes_of_message(question), soon()), Status::ok);
  EXPECT_EQ(receive_all(other_version, answered, soon()), Status::ok);
  EXPECT_EQ(answer.status, ChallengeStatus::other_version);
  EXPECT_EQ(answer.head.version, hello_version);
  // The proof of a challenge that another had.
  JobKey key;
  ASSERT_TRUE(JobKey::from_text(ours, &key));
  question = {};
  question.rank = 1;
  question.size = 2;
  const Nonce of_another = draw_nonce();
  const Proof recorded =
      key.prove(other_label, {bytes_of_message(question), bytes_of_message(of_another)});
  const int replays = call(port);
  EXPECT_EQ(send_all(replays, bytes_of_message(question), soon()), Status::ok);
  EXPECT_EQ(receive_all(replays, answered, soon()), Status::ok);
  EXPECT_EQ(send_all(replays, recorded, soon()), Status::ok);
  EXPECT_EQ(receive_all(replays, answered.first(1), soon()), Status::peer_dead);
  auto as_second = as;
  as_second["IW_RANK"] = "1";
  Child second("member", as_second);
  for (Child* each : {&first, &second}) EXPECT_EQ(each->wait_for_end(), 0);
  for (const int fd : {other_version, replays}) close(fd);
}

// [HELLO-1]
TEST(Rendezvous, ByTcpProcessesWithoutAKeyMeetOnTheirMachineOnly) {
  const std::string error = refusal("tcp:192.0.2.1:7000");
  EXPECT_NE(error.find("set IW_CLUSTER_KEY"), std::string::npos) << error;
}
