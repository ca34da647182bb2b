// A forked child has a copy of the view, and nothing else of the area; the parent loses nothing.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <functional>

#include "platform/clock.h"
#include "track/tracker.h"
#include "track/tracker_fixture.h"

namespace iw::track {
namespace {

class Fork : public EachTracker {};
IW_FOR_EACH_TRACKER(Fork);

struct Child {
  pid_t pid;
  int status() const {
    int result = -1;
    waitpid(pid, &result, 0);
    return result;
  }
};

// The body's result is the exit status: 0, or the line that failed.
Child in_child(const std::function<int()>& body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body() & 0xff);
  return {pid};
}

#define CHILD_EXPECT(condition) \
  if (!(condition)) return __LINE__

TEST_P(Fork, TheChildsHandlesFail) {
  auto area = new_area(4);
  auto read_only = new_area(4, true);
  view_word(*area, 1) = 1;
  const Child child = in_child([&] {
    std::vector<PageRange> dirty;
    CHILD_EXPECT(area->arm().code == ECHILD);
    CHILD_EXPECT(area->collect(dirty).code == ECHILD);
    CHILD_EXPECT(area->begin_apply(0, 4) == nullptr);
    CHILD_EXPECT(apply_word(*area, 0, 0, 1).code == ECHILD);
    CHILD_EXPECT(area->apply_done().code == ECHILD);
    CHILD_EXPECT(commit_pages(*area, 0).code == ECHILD);
    CHILD_EXPECT(rollback_pages(*area, 0).code == ECHILD);
    CHILD_EXPECT(area->set_access(Access::none).code == ECHILD);
    CHILD_EXPECT(apply_word(*read_only, 0, 0, 1).code == ECHILD);
    return 0;
  });
  EXPECT_EQ(child.status(), 0);
  EXPECT_TRUE(collected(*area).contains(1)) << "the child took the parent's list";
}

TEST_P(Fork, StoresOfTheChildStayInTheChild) {
  auto area = new_area(4);
  ASSERT_TRUE(area->arm().ok());
  view_word(*area, 1) = 1;
  EXPECT_TRUE(collected(*area).contains(1));
  ASSERT_TRUE(commit_pages(*area, 1).ok());
  const Child child = in_child([&] {
    view_word(*area, 1) = 2;
    view_word(*area, 2) = 2;
    CHILD_EXPECT(view_word(*area, 1) == 2);
    return 0;
  });
  EXPECT_EQ(child.status(), 0);
  EXPECT_EQ(view_word(*area, 1), 1u);
  EXPECT_EQ(view_word(*area, 2), 0u);
  EXPECT_EQ(word_of(area->pristine(), 2), 0u);
  if (tracker().finds_pages()) {
    EXPECT_EQ(collected(*area), Pages{});
  }
}

TEST_P(Fork, TheParentKeepsTrackingWhileTheChildLives) {
  auto area = new_area(8);
  ASSERT_TRUE(area->arm().ok());
  view_word(*area, 1) = 1;
  EXPECT_TRUE(collected(*area).contains(1));
  ASSERT_TRUE(commit_pages(*area, 1).ok());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Child child = in_child([&] {
    close(ends[1]);
    char byte;
    CHILD_EXPECT(read(ends[0], &byte, 1) == 0);  // until the parent is done
    return 0;
  });
  ASSERT_TRUE(area->arm().ok());
  view_word(*area, 1, 1) = 2;
  view_word(*area, 5) = 2;
  const Pages found = collected(*area);
  if (tracker().finds_pages()) {
    EXPECT_EQ(found, (Pages{1, 5}));
  }
  ASSERT_TRUE(commit_pages(*area, 1).ok());
  ASSERT_TRUE(commit_pages(*area, 5).ok());
  ASSERT_TRUE(apply_word(*area, 5, 1, 7).ok());
  ASSERT_TRUE(area->apply_done().ok());
  EXPECT_EQ(view_word(*area, 5, 1), 7u);
  close(ends[1]);
  EXPECT_EQ(child.status(), 0);
  close(ends[0]);
}

TEST_P(Fork, TheChildMayMakeItsOwnAreas) {
  auto before = new_area(4);
  const Child child = in_child([&] {
    before.reset();
    Status status;
    auto area = tracker().create(8 * platform::page_size(), nullptr, false, -1, status);
    CHILD_EXPECT(area != nullptr);
    std::vector<PageRange> dirty;
    CHILD_EXPECT(area->arm().ok());
    view_word(*area, 3) = 1;
    CHILD_EXPECT(area->collect(dirty).ok());
    CHILD_EXPECT(pages_of(dirty).contains(3));
    CHILD_EXPECT(!tracker().finds_pages() || pages_of(dirty).size() == 1);
    return 0;
  });
  EXPECT_EQ(child.status(), 0);
}

// A process may lock its memory; the kernel then copies private pages before anybody stores.
TEST_P(Fork, WorksInAProcessThatLocksItsMemory) {
  const Child child = in_child([&] {
    if (mlockall(MCL_FUTURE) != 0) return errno == EPERM || errno == ENOMEM ? 0 : __LINE__;
    Status status;
    auto area = tracker().create(8 * platform::page_size(), nullptr, false, -1, status);
    CHILD_EXPECT(area != nullptr);
    CHILD_EXPECT(apply_word(*area, 2, 0, 5).ok() && area->apply_done().ok());
    CHILD_EXPECT(view_word(*area, 2) == 5);
    CHILD_EXPECT(area->arm().ok());
    view_word(*area, 2) = 6;
    std::vector<PageRange> dirty;
    CHILD_EXPECT(area->collect(dirty).ok() && pages_of(dirty).contains(2));
    CHILD_EXPECT(rollback_pages(*area, 2).ok());
    CHILD_EXPECT(view_word(*area, 2) == 5);
    return 0;
  });
  EXPECT_EQ(child.status(), 0);
}

// Uses up the mappings that the kernel allows this process. False: it allows too many to try.
bool exhaust_mappings(platform::Mapping& space) {
  long limit = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> limit;
  if (limit <= 0 || limit > 100'000) return false;
  const std::size_t page = platform::page_size();
  const std::size_t size_bytes = (static_cast<std::size_t>(limit) + 2) * page;
  if (!platform::reserve(size_bytes, nullptr, Placement::if_free, space).ok()) return false;
  for (std::size_t at = 0; at < size_bytes; at += 2 * page) {
    const Status status =
        platform::protect(space.begin() + at, page, platform::Protection::read_write);
    if (status.code == ENOMEM) return true;
  }
  return false;
}

// Every page protected differently from its neighbours is a mapping of its own, and those are
// limited: a big array with scattered stores must not end the process.
TEST_P(Fork, StoresAreFoundWhenTheKernelAllowsNoMoreMappings) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizers' allocators need mappings of their own";
#endif
  constexpr int too_many = 77;
  auto area_of_parent = new_area(1);  // whatever is made once is made before
  const Child child = in_child([&] {
    Status status;
    auto area = tracker().create(64 * platform::page_size(), nullptr, false, -1, status);
    CHILD_EXPECT(area != nullptr);
    std::vector<PageRange> dirty;
    dirty.reserve(64);
    platform::Mapping space;
    CHILD_EXPECT(area->arm().ok());
    if (!exhaust_mappings(space)) return too_many;
    view_word(*area, 30) = 1;
    CHILD_EXPECT(rollback_pages(*area, 30).ok());
    CHILD_EXPECT(view_word(*area, 30) == 0);
    for (std::size_t page : {1, 20, 40, 63}) view_word(*area, page) = 1;
    CHILD_EXPECT(area->collect(dirty).ok());
    const Pages found = pages_of(dirty);
    for (std::size_t page : {1, 20, 40, 63}) CHILD_EXPECT(found.contains(page));
    CHILD_EXPECT(commit_pages(*area, 0, 64).ok());
    CHILD_EXPECT(apply_word(*area, 20, 0, 2).ok() && area->apply_done().ok());
    CHILD_EXPECT(view_word(*area, 20) == 2);
    view_word(*area, 20) = 3;
    CHILD_EXPECT(area->collect(dirty).ok() && pages_of(dirty).contains(20));
    return 0;
  });
  const int status = child.status();
  if (WEXITSTATUS(status) == too_many) GTEST_SKIP() << "vm.max_map_count is too large to reach";
  EXPECT_EQ(status, 0);
}

pid_t child_of_measuring = 0;

// At its first tick another thread of the program may fork.
std::int64_t forking_clock() {
  if (child_of_measuring == 0) {
    child_of_measuring = fork();
    if (child_of_measuring == 0) {
      alarm(30);
      _exit(measure_recommended(platform::now_ns).ok() ? 0 : 1);
    }
  }
  return platform::now_ns();
}

int ended_with(pid_t child) {
  int status = -1;
  return waitpid(child, &status, 0) == child ? status : -1;
}

// All of it in a process that has not chosen yet.
TEST(MeasuredOnce, AChildThatIsForkedMeanwhileMeasuresByItself) {
  const pid_t first = fork();
  if (first == 0) {
    alarm(60);
    if (!measure_recommended(forking_clock).ok()) _exit(1);
    // Some mechanisms ask no clock.
    _exit(child_of_measuring == 0 || ended_with(child_of_measuring) == 0 ? 0 : 2);
  }
  EXPECT_EQ(ended_with(first), 0);
}

}  // namespace
}  // namespace iw::track
