// A job under mpirun whose processes find each other by the name server.
#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "am/am_processes.h"
#include "fabric/rendezvous.h"

using namespace iw::am_test;
using iw::testing::Child;

namespace {

constexpr unsigned processes = 4;
enum : handler_t { question = 1, answer };

std::atomic<int> questions = 0, answers = 0;
void on_question(void* token) {
  questions++;
  AM_Reply0(token, answer);
}
void on_answer(void*) { answers++; }

std::string name_of(unsigned rank) { return "job/" + std::to_string(rank); }

}  // namespace

// Asks the next process in the circle, and answers the one before.
ROLE(job_member) {
  const auto deadline = iw::fabric::Clock::now() + std::chrono::seconds(30);
  std::string error;
  const auto job = iw::fabric::Rendezvous::open(deadline, &error);
  if (job == nullptr || job->size() != processes) return 1;
  const unsigned rank = job->rank();
  const Library library;
  const Endpoint here(AM_PAR);
  here.set(question, handler(&on_question));
  here.set(answer, handler(&on_answer));
  if (AMNS_Init(nullptr) != AM_OK) return 2;
  if (AMNS_Register(name_of(rank).c_str(), here.name) != AM_OK) return 3;
  en_t next;
  const std::string next_name = name_of((rank + 1) % processes);
  if (!here.poll_until([&] { return AMNS_Lookup(next_name.c_str(), &next) == AM_OK; })) return 4;
  if (AM_Request0(here.ep, here.map(next), question) != AM_OK) return 5;
  if (!here.poll_until([] { return answers == 1 && questions == 1; })) return 6;
  // A process that left now might not have sent its answer yet, and the question would come back.
  std::vector<std::vector<std::byte>> all;
  return job->exchange({}, deadline, &all) == iw::fabric::Status::ok ? 0 : 7;
}

TEST(Jobs, OfFourUnderMpirunTalkInACircle) {
  const Child server("name_server");
  setenv("IW_AMNS", server.line().hear_text().c_str(), 1);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = "timeout 60 mpirun -np " + std::to_string(processes) +
                              " --allow-run-as-root --oversubscribe '" + self +
                              "' --role job_member";
  EXPECT_EQ(system(command.c_str()), 0);
  unsetenv("IW_AMNS");
}
