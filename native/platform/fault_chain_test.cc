// Handlers of SIGSEGV that are not ours: only POSIX systems have a chain to be kept.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <csetjmp>

#include "platform/fault_fixture.h"

namespace iw::platform {
namespace {

// What happens to other software's handlers, each case in a process of its own.
class FaultChain : public testing::Test {
 protected:
  static inline Mapping unwatched;
  static inline struct sigaction their_previous {};
  static inline volatile int their_calls = 0;
  static inline sigjmp_buf way_out;

  static void touch_unwatched() {
    ASSERT_TRUE(reserve(page_size(), nullptr, Placement::if_free, unwatched).ok());
    *reinterpret_cast<volatile char*>(unwatched.begin()) = 1;
  }
  static void install(void (*handler)(int, siginfo_t*, void*)) {
    struct sigaction action {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &their_previous);
  }
  static void their_opening_handler(int, siginfo_t* info, void*) {
    their_calls = their_calls + 1;
    if (info->si_addr != unwatched.begin()) _exit(99);
    (void)protect(unwatched.begin(), page_size(), Protection::read_write);
  }
  static void their_chaining_handler(int number, siginfo_t* info, void* context) {
    their_calls = their_calls + 1;
    if (their_calls > 3) _exit(98);  // a circle
    if ((their_previous.sa_flags & SA_SIGINFO) != 0) {
      their_previous.sa_sigaction(number, info, context);
    } else {
      _exit(97);
    }
  }
  static void their_jumping_handler(int, siginfo_t*, void*) {
    their_calls = their_calls + 1;
    siglongjmp(way_out, 1);
  }
  [[noreturn]] static void exit_with(bool is_good) { _exit(is_good ? 0 : 1); }
};
using FaultChainDeathTest = FaultChain;

TEST_F(FaultChainDeathTest, ToAHandlerThatWasThereBefore) {
  EXPECT_EXIT(
      {
        install(their_opening_handler);
        Opener one(1);
        one.at(0) = 'a';
        touch_unwatched();
        exit_with(their_calls == 1 && one.faults == 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(FaultChainDeathTest, ToAHandlerInstalledLaterOnceWeAreOnTopAgain) {
  EXPECT_EXIT(
      {
        Opener one(2);
        one.at(0) = 'a';
        install(their_opening_handler);
        if (!keep_fault_handler_on_top().ok()) _exit(2);
        one.at(1) = 'b';
        touch_unwatched();
        exit_with(their_calls == 1 && one.faults == 2);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(FaultChainDeathTest, EndsWhereALaterHandlerChainsBackToUs) {
  EXPECT_EXIT(
      {
        struct sigaction plain {};
        plain.sa_handler = SIG_DFL;
        sigaction(SIGSEGV, &plain, nullptr);
        Opener one(1);
        install(their_chaining_handler);
        if (!keep_fault_handler_on_top().ok()) _exit(2);
        touch_unwatched();
        _exit(3);
      },
      testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(FaultChainDeathTest, SurvivesAHandlerThatJumpsOut) {
  EXPECT_EXIT(
      {
        install(their_jumping_handler);
        Opener one(1);
        while (their_calls < 5) {
          if (sigsetjmp(way_out, 1) == 0) touch_unwatched();
        }
        one.at(0) = 'a';
        exit_with(their_calls == 5 && one.faults == 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(FaultChainDeathTest, TogglingHandlersDoNotPileUp) {
  EXPECT_EXIT(
      {
        Opener one(1);
        for (int i = 0; i < 100; ++i) {
          install(their_opening_handler);
          if (!keep_fault_handler_on_top().ok()) _exit(2);
        }
        touch_unwatched();
        exit_with(their_calls == 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace iw::platform
