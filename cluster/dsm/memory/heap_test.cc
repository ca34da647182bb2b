#include "dsm/memory/heap.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <barrier>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <thread>

#include "dsm/memory/heap_fixture.h"
#include "dsm/protocol/page_diff.h"

namespace iw::dsm {
namespace {

TEST_P(HeapTest, LiesAtTheAddressInTheWayThatWasAskedFor) {
  EXPECT_EQ(heap_->way(), way());
  EXPECT_EQ(heap_->page_bytes(), page_bytes());
  EXPECT_EQ(heap_->page_of(heap_->begin() + 3 * page_bytes() - 1), 2u);
  EXPECT_TRUE(heap_->has(heap_->begin() + heap_->bytes() - 1));
  EXPECT_FALSE(heap_->has(heap_->begin() + heap_->bytes()));
  std::string error;
  bool is_taken = false;
  EXPECT_EQ(Heap::map({heap_->bytes(), page_bytes(), way()}, heap_->begin(), &is_taken, &error),
            nullptr);
  EXPECT_TRUE(is_taken) << error;
}

TEST_P(HeapTest, IsOpenUntilTheEndOfTheReplayWhichTellsThePagesWithBytes) {
  Opener opener(*heap_);
  *page(2) = 1;
  page(5)[page_bytes() - 1] = 2;
  *page(7) = 0;
  (void)*page(9);
  EXPECT_EQ(heap_->end_replay(true), (std::vector<PageNumber>{2, 5}));
  EXPECT_TRUE(opener.faults().empty());
  EXPECT_EQ(*page(2), 1);
  EXPECT_EQ(page(5)[page_bytes() - 1], 2);
  EXPECT_EQ(opener.faults(), (Faults{{2, Access::read}, {5, Access::read}}));
}

TEST_P(HeapTest, LosesWhatOtherRanksStoredInTheReplay) {
  Opener opener(*heap_);
  *page(2) = 1;
  EXPECT_TRUE(heap_->end_replay(false).empty());
  EXPECT_EQ(*page(2), 0);
}

// [DSM-PAGE-2] [DSM-PAGE-4]: the protocol hears of each access that the page does not allow.
TEST_P(HeapTest, TellsEachAccessThatAPageDoesNotAllow) {
  Opener opener(*heap_);
  heap_->end_replay(true);
  EXPECT_EQ(*page(3), 0);
  EXPECT_EQ(page(3)[page_bytes() - 1], 0);
  *page(3) = 1;
  page(3)[page_bytes() - 1] = 1;
  EXPECT_EQ(opener.faults(), (Faults{{3, Access::read}, {3, Access::write}}));
  page(4)[1] = 2;
  EXPECT_EQ(opener.faults(), (Faults{{4, Access::write}}));
  opener.allow(3, 2, Access::read);
  EXPECT_EQ(*page(3) + page(4)[1], 3);
  EXPECT_TRUE(opener.faults().empty());
  page(3)[2] = 1;
  page(4)[2] = 1;
  EXPECT_EQ(opener.faults(), (Faults{{3, Access::write}, {4, Access::write}}));
  opener.allow(2, 3, Access::none);
  EXPECT_EQ(*page(3) + page(4)[1], 3);
  EXPECT_EQ(opener.faults(), (Faults{{3, Access::read}, {4, Access::read}}));
}

TEST_P(HeapTest, OpensAndClosesStretchesOfPagesWithDifferentAccess) {
  Opener opener(*heap_);
  heap_->end_replay(true);
  for (const Access access : {Access::read, Access::write, Access::none}) {
    for (PageNumber at = 0; at < 30; at += 3) opener.allow(at, 1, Access::read);
    for (PageNumber at = 1; at < 30; at += 3) opener.allow(at, 1, Access::write);
    for (PageNumber at = 2; at < 30; at += 3) opener.allow(at, 1, Access::none);
    opener.allow(0, 30, access);
    opener.faults();
    for (PageNumber at = 0; at < 30; at++) *page(at) = *page(at) + 1;
    const std::size_t faults_each = access == Access::write ? 0 : access == Access::read ? 1 : 2;
    EXPECT_EQ(opener.faults().size(), 30 * faults_each);
  }
  for (PageNumber at = 0; at < 30; at++) EXPECT_EQ(*page(at), 3);
}

// Odd pages change together. Those between them may be loaded, or stored to, or not accessed at
// all, and stay so.
class ManyPages : public HeapTest {
 protected:
  // More than the system takes at a time, where they are small.
  PageNumber count() const { return page_bytes() == 4096 ? 1100 : 50; }

  void change_odd_pages() {
    Opener opener(*heap_);
    heap_->end_replay(true);
    std::vector<PageNumber> odd;
    for (PageNumber at = 0; at < count(); at++) {
      opener.allow(2 * at, 1, between(2 * at));
      odd.push_back(2 * at + 1);
    }
    opener.allow_all(odd, Access::write);
    for (const PageNumber each : odd) *page(each) = 1;
    EXPECT_TRUE(opener.faults().empty());
    opener.allow_all(odd, Access::read);
    for (const PageNumber each : odd) EXPECT_EQ(*page(each), 1);
    EXPECT_TRUE(opener.faults().empty());
    for (const PageNumber each : odd) *page(each) = 2;
    EXPECT_EQ(opener.faults().size(), odd.size());
    opener.allow_all(odd, Access::none);
    for (const PageNumber each : odd) EXPECT_EQ(*page(each), 2);
    EXPECT_EQ(opener.faults().size(), odd.size());
    for (PageNumber at = 0; at < 2 * count(); at += 2) {
      (void)*page(at);
      EXPECT_EQ(opener.faults().size(), between(at) == Access::none ? 1u : 0u);
      *page(at) = 3;
      EXPECT_EQ(opener.faults().size(), between(at) == Access::write ? 0u : 1u);
    }
  }

 private:
  static Access between(PageNumber page) {
    return page % 16 == 0 ? Access::write : page % 4 == 0 ? Access::read : Access::none;
  }
};
INSTANTIATE_TEST_SUITE_P(By, ManyPages, all_ways_and_sizes(), name_of);

TEST_P(ManyPages, ChangeTogetherAndSpareThoseBetween) { change_odd_pages(); }

// An older kernel, or a container's filter.
TEST_P(ManyPages, ChangeAloneWhereTheSystemRefusesThemTogether) {
  std::thread([this] {
    sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_madvise, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{std::size(steps), steps};
    ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
    change_odd_pages();
  }).join();
}

// Memory that was swapped out, or a change of all mappings at once: the protocol knows nothing of
// it.
TEST_P(HeapTest, OpensPagesAgainThatTheSystemClosed) {
  Opener opener(*heap_);
  heap_->end_replay(true);
  *page(1) = 1;
  (void)*page(2);
  *page(3) = 3;
  opener.faults();
  const auto close_all = [&] {
    if (way() == FaultWay::userfaultfd) {
      ASSERT_EQ(madvise(heap_->begin(), 8 * page_bytes(), MADV_DONTNEED), 0);
    } else {
      ASSERT_EQ(mprotect(heap_->begin(), 8 * page_bytes(), PROT_NONE), 0);
    }
  };
  close_all();
  EXPECT_EQ(*page(1) + *page(2) + *page(3), 4);
  *page(1) = 2;
  close_all();
  *page(1) = *page(1) + 1;
  EXPECT_TRUE(opener.faults().empty());
  *page(2) = 2;
  EXPECT_EQ(opener.faults(), (Faults{{2, Access::write}}));
  close_all();
  opener.allow(1, 3, Access::read);
  EXPECT_EQ(*page(1) + *page(2) + *page(3), 8);
  EXPECT_TRUE(opener.faults().empty());
  *page(3) = 4;
  EXPECT_EQ(opener.faults(), (Faults{{3, Access::write}}));
}

TEST_P(HeapTest, HasThePagesOfOtherRanksWithoutItsOwnProtection) {
  Opener opener(*heap_);
  heap_->end_replay(false);
  heap_->fill(1, page_of(7));
  EXPECT_EQ(std::memcmp(heap_->read(1).data(), page_of(7).data(), page_bytes()), 0);
  opener.allow(1, 1, Access::read);
  EXPECT_EQ(page(1)[page_bytes() - 1], 7);
  auto changed = page_of(7);
  changed[5] = std::byte{9};
  EXPECT_TRUE(heap_->apply(1, runs_between(page_of(7), changed)));
  EXPECT_EQ(page(1)[5], 9);
  EXPECT_FALSE(heap_->apply(1, std::span(changed).first(3)));
  heap_->fill(1, {});
  EXPECT_EQ(page(1)[5], 0);
  EXPECT_TRUE(opener.faults().empty());
}

// [DSM-PAGE-3]
TEST_P(HeapTest, DiffsAPageFromItsTwinAndDropsTheTwin) {
  Opener opener(*heap_);
  opener.makes_twins = true;
  heap_->end_replay(false);
  for (PageNumber at = 0; at < 200; at++) {
    heap_->fill(at, page_of(3));
    page(at)[at] = 4;
  }
  EXPECT_EQ(heap_->twins(), 200u);
  EXPECT_GE(heap_->twin_bytes(), 200 * page_bytes());
  opener.allow(0, 200, Access::read);
  for (PageNumber at = 0; at < 200; at++) {
    auto changed = page_of(3);
    changed[at] = std::byte{4};
    const auto runs = heap_->take_diff(at);
    EXPECT_EQ(std::vector(runs.begin(), runs.end()), runs_between(page_of(3), changed));
  }
  EXPECT_EQ(heap_->twins(), 0u);
  EXPECT_LE(heap_->twin_bytes(), std::size_t{32} << 20);
}

TEST_P(HeapTest, GivesPagesBackToTheSystem) {
  Opener opener(*heap_);
  heap_->end_replay(false);
  heap_->fill(1, page_of(7));
  heap_->fill(2, page_of(7));
  heap_->give_back(1, 1);
  unsigned char is_there[2] = {1, 1};
  auto* alias = const_cast<std::byte*>(heap_->read(1).data());
  ASSERT_EQ(mincore(alias, 4096, is_there), 0);
  ASSERT_EQ(mincore(alias + page_bytes(), 4096, is_there + 1), 0);
  EXPECT_EQ(is_there[0] & 1, 0);
  EXPECT_EQ(is_there[1] & 1, 1);
  EXPECT_EQ(*page(1), 0);
  EXPECT_EQ(*page(2), 7);
}

// A page that was opened before all of its bytes were there would show one of the old.
TEST_P(HeapTest, ShowsAPageToAllThreadsWhenItIsWhole) {
  Opener opener(*heap_);
  heap_->end_replay(false);
  constexpr int rounds = 40;
  int round = 1;
  opener.before = [&](PageNumber number, Access) { heap_->fill(number, page_of(round % 256)); };
  std::atomic<int> torn{0};
  std::barrier meeting(3);
  const auto look = [&](bool is_first) {
    for (int each = 1; each <= rounds; each++) {
      meeting.arrive_and_wait();
      for (std::size_t at = 0; at < page_bytes(); at += 61) {
        if (page(6)[page_bytes() - 1 - at] != each % 256) torn++;
      }
      meeting.arrive_and_wait();
      if (is_first) {
        const platform::MutexLock lock(opener.mutex);
        opener.allow(6, 1, Access::none);
        round++;
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; i++) threads.emplace_back(look, i == 0);
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(torn, 0);
}

// Threads store while another one ends intervals: no store is lost, and none is in no diff.
TEST_P(HeapTest, LosesNoStoreWhileIntervalsEnd) {
  Opener opener(*heap_);
  opener.makes_twins = true;
  heap_->end_replay(false);
  constexpr PageNumber pages = 3;
  constexpr int stores = 3000;
  std::vector<std::vector<std::byte>> home(pages, page_of(0));
  const auto end_interval = [&] {
    const platform::MutexLock lock(opener.mutex);
    for (const auto& [number, wanted] : opener.faults()) {
      if (wanted != Access::write) continue;
      opener.allow(number, 1, Access::read);
      EXPECT_TRUE(apply_runs(heap_->take_diff(number), home[number]));
    }
  };
  std::atomic<int> running{2};
  const auto store = [&](std::size_t place) {
    for (int value = 1; value <= stores; value++) {
      page(value % pages)[place] = static_cast<unsigned char>(value);
      page(value % pages)[page_bytes() - 1 - place] = static_cast<unsigned char>(value);
    }
    running--;
  };
  std::thread one(store, 0), other(store, 100);
  while (running > 0) end_interval();
  one.join();
  other.join();
  end_interval();
  for (PageNumber at = 0; at < pages; at++) {
    EXPECT_EQ(std::memcmp(home[at].data(), heap_->read(at).data(), page_bytes()), 0) << at;
  }
  EXPECT_EQ(heap_->twins(), 0u);
}

TEST_P(HeapTest, RefusesATwinWhenTheProcessMayHaveNoMoreMemory) {
  const auto exhaust = [] {
    auto heap = map_heap(way(), page_bytes());
    if (heap == nullptr) _exit(2);
    heap->end_replay(false);
    std::ifstream statm("/proc/self/statm");
    std::size_t pages = 0;
    statm >> pages;
    const std::size_t limit = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + (16 << 20);
    const rlimit to{limit, limit};
    if (setrlimit(RLIMIT_AS, &to) != 0) _exit(3);
    PageNumber made = 0;
    while (made < 5000 && heap->make_twin(made)) made++;
    if (made == 5000) _exit(4);
    // One that is dropped makes room for another.
    if (made > 0 && (!heap->take_diff(0).empty() || !heap->make_twin(made))) _exit(5);
    _exit(0);
  };
  EXPECT_EXIT(exhaust(), ::testing::ExitedWithCode(0), "");
}

TEST_P(HeapTest, IsNeitherInAChildNorInACoreDump) {
  Opener opener(*heap_);
  *page(1) = 1;
  std::ifstream smaps("/proc/self/smaps");
  char begin[20];
  std::snprintf(begin, sizeof begin, "%lx-", reinterpret_cast<unsigned long>(heap_->begin()));
  std::string line;
  while (std::getline(smaps, line) && line.rfind(begin, 0) != 0) continue;
  while (std::getline(smaps, line) && line.rfind("VmFlags:", 0) != 0) continue;
  EXPECT_NE((line + " ").find(" dd "), std::string::npos) << line;
  EXPECT_NE((line + " ").find(" dc "), std::string::npos) << line;
  const auto store_in_child = [&] {
    signal(SIGSEGV, SIG_DFL);
    *page(1) = 2;
  };
  EXPECT_EXIT(store_in_child(), ::testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT({ std::exit(3); }, ::testing::ExitedWithCode(3), "");
  EXPECT_EQ(*page(1), 1);
}

INSTANTIATE_TEST_SUITE_P(All, HeapTest, all_ways_and_sizes(), name_of);

// Each stretch of equal protection is a mapping of the kernel.
TEST(Heap, HasMorePagesWithDifferentProtectionThanTheKernelHasMappings) {
  constexpr PageNumber pages = 150000;
  auto heap = map_heap(FaultWay::sigsegv, 4096);
  ASSERT_NE(heap, nullptr);
  Opener opener(*heap);
  heap->end_replay(false);
  for (PageNumber page = 0; page < pages; page += 2) opener.allow(page, 1, Access::write);
  for (const PageNumber page : {PageNumber{0}, PageNumber{30000}, pages - 2}) {
    auto* const word = reinterpret_cast<volatile int*>(heap->begin() + page * 4096);
    *word = 5;
    EXPECT_EQ(*word, 5);
  }
  EXPECT_TRUE(opener.faults().empty());
  EXPECT_EQ(static_cast<int>(heap->begin()[4096]), 0);
  EXPECT_EQ(opener.faults().size(), 1u);
}

TEST(Heap, SaysWhichOptionIsNotValid) {
  std::string error;
  bool is_taken = false;
  auto* const at = reinterpret_cast<std::byte*>(Heap::addresses()[0]);
  for (const std::size_t page : {0, 1024, 5000, 131072}) {
    EXPECT_EQ(Heap::map({1 << 20, page, FaultWay::best}, at, &is_taken, &error), nullptr);
    EXPECT_NE(error.find("IW_DSM_PAGE"), std::string::npos) << error;
  }
  EXPECT_EQ(Heap::map({100000, 4096, FaultWay::best}, at, &is_taken, &error), nullptr);
  EXPECT_NE(error.find("IW_DSM_HEAP"), std::string::npos) << error;
  EXPECT_FALSE(is_taken);
}

// Here because the process may have one more descriptor, and not two.
TEST(Heap, TakesFaultsAsSignalsOfProtectionWhereUserfaultfdIsRefused) {
  const auto refused = [] {
    const int free = dup(0);
    close(free);
    const rlimit to{static_cast<rlim_t>(free) + 1, static_cast<rlim_t>(free) + 1};
    if (setrlimit(RLIMIT_NOFILE, &to) != 0) _exit(2);
    std::string error;
    if (map_heap(FaultWay::userfaultfd, 4096, &error) != nullptr) _exit(3);
    std::fputs(error.c_str(), stderr);
    const auto heap = map_heap(FaultWay::best, 4096);
    _exit(heap != nullptr && heap->way() == FaultWay::sigsegv ? 0 : 1);
  };
  EXPECT_EXIT(refused(), ::testing::ExitedWithCode(0), "IW_DSM_FAULTS=sigsegv");
}

TEST(Heap, SaysThatTheAddressSpaceIsLimited) {
  const auto limited = [] {
    const rlimit to{std::size_t{8} << 30, std::size_t{8} << 30};
    setrlimit(RLIMIT_AS, &to);
    std::string error;
    bool is_taken = true;
    auto* const at = reinterpret_cast<std::byte*>(Heap::addresses()[0]);
    const bool is_refused = Heap::map({}, at, &is_taken, &error) == nullptr && !is_taken;
    std::fputs(error.c_str(), stderr);
    _exit(is_refused ? 0 : 1);
  };
  EXPECT_EXIT(limited(), ::testing::ExitedWithCode(0), "ulimit -v.*IW_DSM_HEAP");
}

}  // namespace
}  // namespace iw::dsm
