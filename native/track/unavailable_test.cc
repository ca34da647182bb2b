// The self-test's choice where the kernel refuses what a mechanism needs, as containers do: a
// seccomp filter takes userfaultfd away, or PAGEMAP_SCAN as well. Each case is a process of its
// own, begun anew, since mechanisms are tried once per process.
#include <gtest/gtest.h>

#include "track/tracker_fixture.h"

#if defined(__linux__) && __has_include(<linux/seccomp.h>)
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#ifdef SYS_userfaultfd

namespace iw::track {
namespace {

enum class Refused { userfaultfd, userfaultfd_and_scan };

// Type and number of the ioctls: 0xAA are userfaultfd's (also by way of its device), 'f' 16 is
// PAGEMAP_SCAN.
bool refuse(Refused what) {
  constexpr auto deny = SECCOMP_RET_ERRNO | EPERM;
  constexpr unsigned request_at =
      offsetof(seccomp_data, args) + 8 + (std::endian::native == std::endian::big ? 4 : 0);
  const unsigned scan = what == Refused::userfaultfd_and_scan ? 0x6610 : 0;
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 7, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, request_at),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xFFFF),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, scan, 3, 0),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xFF00),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xAA00, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, deny),
  };
  const sock_fprog filter{sizeof program / sizeof program[0], program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// Not under emulators.
bool can_refuse() {
  const pid_t child = fork();
  if (child == 0) {
    const bool refused =
        refuse(Refused::userfaultfd) && syscall(SYS_userfaultfd, 0) == -1 && errno == EPERM;
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0;
}

[[noreturn]] void choose_without(Refused what, const char* forced) {
  if (!refuse(what)) std::_Exit(2);
  set_variable("IW_TRACKER", forced);
  Status status;
  Tracker& tracker = recommended();
  const auto area = tracker.create(platform::page_size(), nullptr, false, -1, status);
  std::fprintf(stderr, "%s: %s\n", tracker.name(), area != nullptr ? "works" : status.what);
  std::_Exit(area != nullptr ? 0 : 1);
}

class Unavailable : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_refuse()) GTEST_SKIP() << "system calls cannot be refused here";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
  // Of those after the first `refused` ones.
  static std::string first_that_works(std::size_t refused) {
    for (const char* name : tracker_names().subspan(refused)) {
      Status status;
      if (find_tracker(name, status) != nullptr) return name;
    }
    return "none";
  }
};

TEST_F(Unavailable, WithoutUserfaultfdTheNextOneIsChosen) {
  EXPECT_EXIT(choose_without(Refused::userfaultfd, nullptr), testing::ExitedWithCode(0),
              first_that_works(1) + ": works");
}

TEST_F(Unavailable, WithoutPagemapScanTheHandlerIsChosen) {
  EXPECT_EXIT(choose_without(Refused::userfaultfd_and_scan, nullptr), testing::ExitedWithCode(0),
              "sigsegv: works");
}

TEST_F(Unavailable, ForcingWhatIsRefusedIsAnErrorThatSaysSo) {
  EXPECT_EXIT(choose_without(Refused::userfaultfd, "wp-async"), testing::ExitedWithCode(1),
              "IW_TRACKER=wp-async: userfaultfd.*the choices are wp-async, scan");
}

}  // namespace
}  // namespace iw::track

#endif
#endif
