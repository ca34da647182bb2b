// Processes that wait use hardly any processor time, whatever they wait for. While messages arrive
// they do not sleep.
#include <sys/resource.h>

#include "am/am_processes.h"
#include "testing/transports.h"

using namespace iw::am_test;
using iw::testing::Child;

namespace {

constexpr double wait_seconds = 1;
// A process that polls would use all of the time.
constexpr double used_seconds_max = 0.1 * wait_seconds;

// Of all the process's threads.
double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

int echoes = 0;
void on_echo(void*, int, int, int, int) { echoes++; }

}  // namespace

// Echoes, and tells the processor time that it has used when it is asked.
ROLE(idle_echo) {
  const Library library;
  const Endpoint endpoint(AM_PAR);
  set_echo_handlers(endpoint);
  parent.say_value(endpoint.name);
  while (parent.hear_text() != "end") parent.say_value(processor_seconds());
  return 0;
}

class Idle : public ::testing::TestWithParam<const char*> {
 protected:
  Idle() {
    here.set(1, handler(&on_echo));
    EXPECT_EQ(AM_SetEventMask(here.bundle, AM_NOTEMPTY), AM_OK);
  }
  ~Idle() override {
    there.line().say(std::string("end"));
    EXPECT_EQ(there.wait_for_end(), 0);
  }

 private:
  const int transport_is_set_ = setenv("IW_FABRIC", GetParam(), 1);
  const Library library_;

 protected:
  const Endpoint here;
  Child there{"idle_echo"};
  const int to = here.map(there.line().hear_value<en_t>());
};
INSTANTIATE_TEST_SUITE_P(Over, Idle, ::testing::ValuesIn(iw::testing::transports({"shm", "tcp"})),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(Idle, ProcessesUseNextToNoProcessorTime) {
  const auto use_of_the_other = [&] {
    there.line().say(std::string("used"));
    return there.line().hear_value<double>();
  };
  echoes = 0;
  ASSERT_EQ(AM_Request4(here.ep, to, echo_words, 1, 2, 3, 4), AM_OK);
  ASSERT_TRUE(here.poll_until([] { return echoes == 1; }));
  const double used_there = use_of_the_other(), used_here = processor_seconds();
  EXPECT_EQ(AM_WaitFor(here.bundle, wait_seconds), AM_ERR_NOT_SENT);  // the program waits
  EXPECT_LT(processor_seconds() - used_here, used_seconds_max);
  EXPECT_LT(use_of_the_other() - used_there, used_seconds_max);  // the library waits
}

namespace {

// How often this thread went to sleep of its own accord.
long sleeps() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  return used.ru_nvcsw;
}

// How often this thread went to sleep in so many round trips that it waited for.
long sleeps_in(int rounds, double spin_seconds, const Endpoint& here, int to) {
  EXPECT_EQ(AM_SetSpin(here.bundle, spin_seconds), AM_OK);
  echoes = 0;
  const long before = sleeps();
  for (int round = 1; round <= rounds; round++) {
    EXPECT_EQ(AM_Request4(here.ep, to, echo_words, 1, 2, 3, 4), AM_OK);
    while (echoes < round) {
      EXPECT_EQ(AM_WaitFor(here.bundle, 30), AM_OK);
      EXPECT_EQ(AM_Poll(here.bundle), AM_OK);
    }
  }
  return sleeps() - before;
}

}  // namespace

TEST_P(Idle, WhileMessagesComeWithinTheSpinNobodySleeps) {
  constexpr int rounds = 200;
  sleeps_in(1, 0, here, to);  // after this no thread is busy with the mapping
  // A few sleeps are allowed, because a thread of the library may be inside the bundle for a
  // moment.
  EXPECT_LT(sleeps_in(rounds, 30, here, to), rounds / 10);
  EXPECT_EQ(AM_SetSpin(here.bundle, 0), AM_OK);
  const long before = sleeps();
  EXPECT_EQ(AM_WaitFor(here.bundle, 0.02), AM_ERR_NOT_SENT);
  EXPECT_GT(sleeps(), before) << "where nothing comes it does sleep, and it is seen";
}
