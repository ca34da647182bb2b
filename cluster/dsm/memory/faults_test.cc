// Faults elsewhere, and what else a process does with signals, forks and stacks. Each case that
// changes the process's handlers has a process of its own.
#include "dsm/memory/faults.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "dsm/memory/heap_fixture.h"

extern char** environ;

namespace iw::dsm {
namespace {

class FaultsTest : public testing::TestWithParam<FaultWay> {
 protected:
  static constexpr std::size_t page_bytes = 4096;

  void SetUp() override {
    heap_ = map_heap(GetParam(), page_bytes);
    if (heap_ == nullptr) GTEST_SKIP() << "this kernel refuses userfaultfd for shared memory";
    heap_.reset();
  }

  // In a child's process.
  static void map() {
    heap_ = map_heap(GetParam(), page_bytes);
    heap_->end_replay(false);
    opener_ = std::make_unique<Opener>(*heap_);
  }
  static int signal_number() { return GetParam() == FaultWay::sigsegv ? SIGSEGV : SIGBUS; }
  static volatile char* page(PageNumber number) {
    return reinterpret_cast<volatile char*>(heap_->begin() + number * page_bytes);
  }

  // A page that is not the heap's, and faults with the way's signal: memory that may not be
  // accessed, or behind the end of a file.
  static volatile char* foreign() {
    static char* page = nullptr;
    if (page != nullptr) return page;
    const int file = memfd_create("empty", MFD_CLOEXEC);
    const bool is_closed = signal_number() == SIGSEGV;
    if (is_closed && ftruncate(file, page_bytes) != 0) _exit(90);
    page = static_cast<char*>(mmap(
        nullptr, page_bytes, is_closed ? PROT_NONE : PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    return page;
  }
  static void open_foreign() {
    mmap(const_cast<char*>(foreign()), page_bytes, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  }

  static inline struct sigaction their_previous {};
  static void install(void (*handler)(int, siginfo_t*, void*)) {
    struct sigaction action {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    sigaddset(&action.sa_mask, SIGUSR1);
    sigaction(signal_number(), &action, &their_previous);
  }
  static void install_plain(void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    sigaction(signal_number(), &action, &their_previous);
  }

  static inline volatile int their_calls = 0;
  static inline volatile bool is_blocked = false;
  static void their_handler(int number, siginfo_t* info, void*) {
    their_calls = their_calls + 1;
    if (number != signal_number() || info->si_addr != foreign()) _exit(91);
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, nullptr, &now);
    is_blocked = sigismember(&now, SIGUSR1) == 1 && sigismember(&now, number) == 1;
    open_foreign();
  }
  static void their_plain_handler(int number) {
    their_calls = their_calls + 1;
    if (number != signal_number()) _exit(92);
    open_foreign();
  }
  static void their_chaining_handler(int number, siginfo_t* info, void* context) {
    their_calls = their_calls + 1;
    if (their_calls > 3) _exit(93);
    their_previous.sa_sigaction(number, info, context);
  }

  static void end(bool is_good) { _exit(is_good ? 0 : 1); }
  // With a page that nobody accessed yet.
  static bool works() {
    static PageNumber next = 3;
    *page(next++) = 1;
    return !opener_->faults().empty();
  }

  static inline std::unique_ptr<Heap> heap_;
  static inline std::unique_ptr<Opener> opener_;
};

using ::testing::ExitedWithCode;
using ::testing::KilledBySignal;

TEST_P(FaultsTest, ElsewhereGoToTheHandlerThatWasThereBefore) {
  const auto run = [] {
    install(their_handler);
    map();
    *foreign() = 1;
    end(their_calls == 1 && is_blocked && works());
  };
  EXPECT_EXIT(run(), ExitedWithCode(0), "");
}

TEST_P(FaultsTest, ElsewhereGoToAPlainHandlerThatWasThereBefore) {
  const auto run = [] {
    install_plain(their_plain_handler);
    map();
    *foreign() = 1;
    end(their_calls == 1 && works());
  };
  EXPECT_EXIT(run(), ExitedWithCode(0), "");
}

TEST_P(FaultsTest, ElsewhereEndTheProcessWithTheirSignal) {
  const auto run = [](void (*before)(int)) {
    signal(signal_number(), before);
    map();
    if (!works()) _exit(1);
    *foreign() = 1;
    _exit(2);
  };
  EXPECT_EXIT(run(SIG_DFL), KilledBySignal(signal_number()), "");
  EXPECT_EXIT(run(SIG_IGN), KilledBySignal(signal_number()), "");
}

TEST_P(FaultsTest, SignalsThatAreSentAreNotFaults) {
  const auto run = [](void (*before)(int)) {
    signal(signal_number(), before);
    map();
    if (!works()) _exit(1);
    kill(getpid(), signal_number());
    end(works());
  };
  EXPECT_EXIT(run(SIG_DFL), KilledBySignal(signal_number()), "");
  EXPECT_EXIT(run(SIG_IGN), ExitedWithCode(0), "");
}

TEST_P(FaultsTest, GoToTheHeapAgainWhenTheHandlerIsPutOnTop) {
  const auto run = [] {
    map();
    install(their_handler);
    keep_fault_handler_on_top();
    *foreign() = 1;
    for (int i = 0; i < 100; i++) {
      install(their_handler);
      keep_fault_handler_on_top();
    }
    end(their_calls == 1 && works());
  };
  EXPECT_EXIT(run(), ExitedWithCode(0), "");
}

TEST_P(FaultsTest, ElsewhereEndWhereALaterHandlerCallsOurs) {
  const auto run = [] {
    signal(signal_number(), SIG_DFL);
    map();
    install(their_chaining_handler);
    keep_fault_handler_on_top();
    *foreign() = 1;
    _exit(2);
  };
  EXPECT_EXIT(run(), KilledBySignal(signal_number()), "");
}

TEST_P(FaultsTest, ThatTheHandlerRefusesEndTheProcessWithTheirSignal) {
  const auto run = [] {
    signal(signal_number(), SIG_DFL);
    map();
    if (!works()) _exit(1);
    opener_->is_refusing = true;
    *page(5) = 1;
    _exit(2);
  };
  EXPECT_EXIT(run(), KilledBySignal(signal_number()), "");
}

TEST_P(FaultsTest, AreNobodysAfterTheWatch) {
  const auto run = [] {
    signal(signal_number(), SIG_DFL);
    map();
    if (!works()) _exit(1);
    opener_.reset();
    *page(5) = 1;
    _exit(2);
  };
  EXPECT_EXIT(run(), KilledBySignal(signal_number()), "");
}

TEST_P(FaultsTest, KeepErrno) {
  const auto run = [] {
    map();
    opener_->before = [](PageNumber, Access) { errno = EIO; };
    errno = ENOENT;
    *page(1) = 1;
    end(errno == ENOENT);
  };
  EXPECT_EXIT(run(), ExitedWithCode(0), "");
}

// A thread's alternative stack may have room for few frames only. The protocol needs more.
TEST_P(FaultsTest, AreHandledOnTheThreadsOwnStack) {
  const auto run = [] {
    map();
    std::vector<char> alternative(static_cast<std::size_t>(MINSIGSTKSZ) + 8192);
    opener_->before = [&](PageNumber, Access) {
      char room[200000];
      std::memset(room, 1, sizeof room);
      asm volatile("" : : "r"(room) : "memory");
      const char* here = static_cast<char*>(__builtin_frame_address(0));
      if (here >= alternative.data() && here < alternative.data() + alternative.size()) _exit(2);
    };
    bool is_good = false;
    std::thread([&] {
      const stack_t stack{alternative.data(), 0, alternative.size()};
      stack_t before{};
      if (sigaltstack(&stack, &before) != 0) _exit(3);
      // Registers and what lies below the stack pointer must survive.
      volatile double sum = 0;
      for (int i = 0; i < 50; i++) {
        *page(static_cast<PageNumber>(i)) = 1;
        sum = sum + i * 0.5;
      }
      stack_t now{};
      sigaltstack(nullptr, &now);
      is_good = sum == 612.5 && now.ss_sp == alternative.data() && now.ss_flags == 0;
      sigaltstack(&before, nullptr);  // a sanitizer's
    }).join();
    end(is_good && opener_->faults().size() == 50);
  };
  EXPECT_EXIT(run(), ExitedWithCode(0), "");
}

// The handler that was there before, to tell of a stack that is used up, needs the alternative one.
int grow(int depth);
int (*volatile deeper)(int) = grow;
int grow(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return deeper(depth + 1) + frame[0];
}

TEST_P(FaultsTest, OfAStackThatIsUsedUpGoToTheHandlerThatWasThereBefore) {
  const auto run = [] {
    struct sigaction action {};
    action.sa_handler = [](int) { _exit(7); };
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGSEGV, &action, nullptr);
    map();
    std::vector<char> alternative(65536);
    const stack_t stack{alternative.data(), 0, alternative.size()};
    sigaltstack(&stack, nullptr);
    if (!works()) _exit(1);
    _exit(grow(0));
  };
  EXPECT_EXIT(run(), ExitedWithCode(7), "");
}

// A handler of the program for another signal accesses the heap while its thread handles a fault.
TEST_P(FaultsTest, MayBeInterruptedBySignalsOfTheProgram) {
  const auto run = [] {
    map();
    static std::atomic<int> interruptions{0};
    signal(SIGUSR1, [](int) { interruptions++; });
    opener_->before = [](PageNumber, Access) { raise(SIGUSR1); };
    for (PageNumber each = 0; each < 10; each++) *page(each) = 1;
    end(interruptions == 10);
  };
  EXPECT_EXIT(run(), ExitedWithCode(0), "");
}

// A program blocks all signals so that one thread waits for them.
TEST_P(FaultsTest, CannotBeBlocked) {
  const auto run = [] {
    sigset_t all, now;
    sigfillset(&all);
    if (pthread_sigmask(SIG_BLOCK, &all, nullptr) != 0) _exit(2);
    map();
    if (!works()) _exit(3);
    if (pthread_sigmask(SIG_SETMASK, &all, nullptr) != 0 || !works()) _exit(4);
    if (sigprocmask(SIG_BLOCK, &all, nullptr) != 0 || !works()) _exit(5);
    if (pthread_sigmask(SIG_BLOCK, nullptr, &now) != 0) _exit(6);
    end(sigismember(&now, SIGTERM) == 1 && sigismember(&now, signal_number()) == 0);
  };
  EXPECT_EXIT(run(), ExitedWithCode(0), "");
}

TEST_P(FaultsTest, DoNotKeepAProcessFromStartingOthers) {
  const auto run = [] {
    map();
    if (!works()) _exit(1);
    if (std::system("exit 3") != 3 << 8) _exit(2);
    char text[10] = {};
    FILE* const from = popen("echo seven", "r");
    if (from == nullptr || std::fgets(text, sizeof text, from) == nullptr || pclose(from) != 0 ||
        std::strcmp(text, "seven\n") != 0) {
      _exit(3);
    }
    pid_t spawned = 0;
    char name[] = "true";
    char* arguments[] = {name, nullptr};
    int status = -1;
    if (posix_spawnp(&spawned, name, nullptr, nullptr, arguments, environ) != 0 ||
        waitpid(spawned, &status, 0) != spawned || status != 0) {
      _exit(4);
    }
    end(works());
  };
  EXPECT_EXIT(run(), ExitedWithCode(0), "");
}

// Threads fault while another one forks: the child must not wait for what they hold.
TEST_P(FaultsTest, OfThreadsDoNotStopAChildThatIsForked) {
  const auto run = [] {
    map();
    std::atomic<bool> is_over{false};
    std::thread faulting([&] {
      for (PageNumber each = 0; !is_over; each = (each + 1) % 1000) {
        *page(each) = 1;
        const platform::MutexLock lock(opener_->mutex);
        opener_->allow(each, 1, Access::none);
      }
    });
    bool is_good = true;
    for (int i = 0; i < 50; i++) {
      const pid_t child = fork();
      if (child == 0) {
        keep_fault_handler_on_top();
        if (is_in_heap(heap_->begin(), 1)) _exit(1);
        open_for_call(heap_->begin(), 1, Access::write);
        heap_.release();
        _exit(0);
      }
      int status = -1;
      is_good = is_good && waitpid(child, &status, 0) == child && status == 0;
    }
    is_over = true;
    faulting.join();
    end(is_good && works());
  };
  EXPECT_EXIT(run(), ExitedWithCode(0), "");
}

TEST_P(FaultsTest, OfSeveralHeapsGoToTheirs) {
  const auto run = [] {
    map();
    auto other = map_heap(GetParam(), page_bytes);
    if (other == nullptr || other->begin() == heap_->begin()) _exit(2);
    other->end_replay(false);
    Opener opener(*other);
    *page(3) = 1;
    *reinterpret_cast<volatile char*>(other->begin() + 7 * page_bytes) = 1;
    end(opener_->faults() == Faults{{3, Access::write}} &&
        opener.faults() == Faults{{7, Access::write}});
  };
  EXPECT_EXIT(run(), ExitedWithCode(0), "");
}

INSTANTIATE_TEST_SUITE_P(All, FaultsTest, testing::Values(FaultWay::sigsegv, FaultWay::userfaultfd),
                         [](const auto& each) {
                           return each.param == FaultWay::sigsegv ? "sigsegv" : "userfaultfd";
                         });

}  // namespace
}  // namespace iw::dsm
