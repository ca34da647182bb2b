#include "platform/fault.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <thread>
#include <vector>

#include "platform/memory.h"

namespace iw::platform {
namespace {

// Opens its page and counts.
struct Opener {
  Mapping memory;
  FaultWatch watch;
  std::atomic<int> faults{0};
  std::atomic<FaultAccess> last{FaultAccess::unknown};

  explicit Opener(std::size_t pages) {
    EXPECT_TRUE(reserve(pages * page_size(), nullptr, Placement::if_free, memory).ok());
    EXPECT_TRUE(
        FaultWatch::start(memory.begin(), memory.size_bytes(), &Opener::open, this, watch).ok());
  }
  static bool open(void* context, std::byte* address, FaultAccess access) noexcept {
    auto* self = static_cast<Opener*>(context);
    ++self->faults;
    self->last = access;
    const auto offset = static_cast<std::size_t>(address - self->memory.begin());
    return protect(self->memory.begin() + offset / page_size() * page_size(), page_size(),
                   Protection::read_write)
        .ok();
  }
  volatile char& at(std::size_t page) {
    return *reinterpret_cast<volatile char*>(memory.begin() + page * page_size());
  }
};

TEST(Fault, GoesToTheHandlerOfItsRangeAndTheAccessGoesOn) {
  Opener one(4);
  Opener two(4);
  one.at(1) = 'a';
  two.at(3) = 'b';
  two.at(0) = 'c';
  EXPECT_EQ(one.faults, 1);
  EXPECT_EQ(two.faults, 2);
  EXPECT_EQ(one.at(1), 'a');
  EXPECT_NE(one.last.load(), FaultAccess::read);
  EXPECT_EQ(one.at(2), 0);
  EXPECT_NE(one.last.load(), FaultAccess::write);
}

TEST(Fault, KeepsErrno) {
  Opener one(1);
  errno = 1234;
  one.at(0) = 'a';
  EXPECT_EQ(errno, 1234);
}

TEST(Fault, RangesMustNotOverlap) {
  Opener one(4);
  FaultWatch second;
  EXPECT_EQ(
      FaultWatch::start(one.memory.begin() + page_size(), page_size(), &Opener::open, &one, second)
          .code,
      EEXIST);
}

TEST(Fault, WatchesComeAndGoWhileOtherThreadsFault) {
  std::atomic<bool> is_done{false};
  std::vector<std::thread> threads;
  std::atomic<int> rounds{0};
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (!is_done || rounds < 10) {
        Opener mine(8);
        for (std::size_t page = 0; page < 8; ++page) mine.at(page) = 'x';
        EXPECT_EQ(mine.faults, 8);
        ++rounds;
      }
    });
  }
  for (int i = 0; i < 300; ++i) {
    Opener brief(1);
    brief.at(0) = 'y';
    EXPECT_EQ(brief.faults, 1);
  }
  is_done = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(Fault, OutsideEveryRangeItEndsTheProcess) {
  Opener one(1);
  Mapping unwatched;
  ASSERT_TRUE(reserve(page_size(), nullptr, Placement::if_free, unwatched).ok());
  EXPECT_DEATH(*reinterpret_cast<volatile char*>(unwatched.begin()) = 1, "");
}

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
