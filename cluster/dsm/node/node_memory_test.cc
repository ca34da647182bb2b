// What a rank holds of the heap, and for how long: copies, twins and diffs.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "dsm/node/node_fixture.h"

namespace iw::dsm {
namespace {

constexpr PageNumber many_pages = 256;

// Of the heap's file.
std::uint64_t bytes_held(Member& at) {
  struct stat found {};
  check(fstat(at.node->heap().file(), &found) == 0, "the file is there");
  constexpr std::uint64_t block_bytes = 512;
  return static_cast<std::uint64_t>(found.st_blocks) * block_bytes;
}

// All pages are rank 0's.
void begin_at_0(Member& at) {
  const Placement homes[] = {{0, many_pages, 0}};
  at.begin(many_pages, homes);
}

void load_all(Member& at) {
  for (PageNumber page = 0; page < many_pages; page++) (void)at.words[page * at.page_words];
}

void store_all(Member& at, std::uint64_t value) {
  for (PageNumber page = 0; page < many_pages; page++) {
    at.words[page * at.page_words + at.me()] = value + page;
  }
}

void check_all(Member& at, Rank writer, std::uint64_t value) {
  for (PageNumber page = 0; page < many_pages; page++) {
    const std::uint64_t found = at.words[page * at.page_words + writer];
    check(found == value + page, "a page has what was stored", found);
  }
}

Stats wait_for_diffs(Member& at) {
  const Result result = at.node->wait([&] { return at.node->stats().mail.waiting_bytes == 0; });
  check(result.is_ok(), "the diffs are taken");
  return at.node->stats();
}

}  // namespace

// A home has its pages. Another rank has a copy, a twin while it writes, and a diff until the home
// has it.
ROLE(holdings) {
  Member at;
  begin_at_0(at);
  if (at.me() == 1) store_all(at, 5);
  const Stats dirty = at.node->stats();
  check(dirty.pages.twins == (at.me() == 1 ? many_pages : 0), "twins away from home only",
        dirty.pages.twins);
  check(dirty.pages.copies == (at.me() == 1 ? many_pages : 0), "copies away from home only",
        dirty.pages.copies);
  at.barrier();
  const Stats clean = wait_for_diffs(at);
  check(clean.pages.twins == 0, "no twin behind the barrier", clean.pages.twins);
  check(clean.mail.waiting_bytes == 0, "no diff", clean.mail.waiting_bytes);
  if (at.me() == 0) {
    store_all(at, 9);
    check(at.node->stats().pages.twins_most == 0, "stores at home make no twin");
  }
  at.barrier();
  check_all(at, 1, 5);
  check_all(at, 0, 9);
  at.barrier();
  return at.finish();
}

TEST(NodeMemory, HoldsOneCopyAndTwinsOnlyWhileDirty) { TestJob("holdings", 2).expect_success(); }

// Copies that are stale for long are given back. Later loads find the newest bytes.
// [DSM-COPY-2]
ROLE(stale_copies) {
  Member at;
  begin_at_0(at);
  if (at.me() == 1) load_all(at);
  at.barrier();
  const std::uint64_t before = bytes_held(at);
  if (at.me() == 0) store_all(at, 3);
  at.barrier();
  constexpr int enough = 40;
  for (int i = 0; i < enough; i++) {
    // Of a page that is not looked at, so that each barrier has a notice.
    if (at.me() == 0) at.words[(many_pages - 1) * at.page_words + 9] = static_cast<unsigned>(i) + 1;
    at.barrier();
  }
  if (at.me() == 1) {
    const Stats stats = at.node->stats();
    check(stats.pages.stale_given_back >= many_pages, "stale copies are given back",
          stats.pages.stale_given_back);
    check(stats.pages.copies == 0, "none is left", stats.pages.copies);
    check(bytes_held(at) < before / 4, "the system has their memory", bytes_held(at));
  }
  check_all(at, 0, 3);
  at.barrier();
  return at.finish();
}

TEST(NodeMemory, GivesStaleCopiesBack) { TestJob("stale_copies", 2).expect_success(); }

// A limit of 64 pages. Pages that were given up are fetched again, and dirty ones stay.
// [DSM-COPY-2]
ROLE(limited_copies) {
  Member at;
  const Placement homes[] = {{0, many_pages + 1, 0}};
  at.begin(many_pages + 1, homes);
  if (at.me() == 0) store_all(at, 7);
  at.barrier();
  constexpr PageNumber most = 64;
  if (at.me() == 1) {
    for (int round = 0; round < 3; round++) check_all(at, 0, 7);
    const Stats stats = at.node->stats();
    check(stats.pages.copies_most <= most, "no more copies than allowed", stats.pages.copies_most);
    check(stats.pages.evictions >= 2 * many_pages, "copies are given up", stats.pages.evictions);
    check(bytes_held(at) <= 2 * most * at.node->heap().page_bytes(), "and their memory",
          bytes_held(at));
    store_all(at, 11);
    check_all(at, 1, 11);
  }
  at.barrier();
  if (at.me() == 1) {
    const std::uint64_t held = at.node->stats().pages.copies;
    check(held == many_pages, "pages that are written stay", held);
    (void)at.words[many_pages * at.page_words];
    const std::uint64_t left = at.node->stats().pages.copies;
    check(left <= most, "until their interval has ended", left);
  }
  check_all(at, 1, 11);
  check_all(at, 0, 7);
  at.barrier();
  return at.finish();
}

class LimitedCopies : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Direct, LimitedCopies, ::testing::Values("yes", "no"));

TEST_P(LimitedCopies, AreEvictedAndFetchedAgain) {
  TestJob("limited_copies", 2, {{"IW_DSM_CACHE", "256K"}, {"IW_DSM_DIRECT", GetParam()}})
      .expect_success();
}

// The pages of one interval fill the limit. A load that crosses the end of a page needs two others
// at one time. [DSM-COPY-2]
ROLE(loads_across_pages) {
  Member at;
  begin_at_0(at);
  if (at.me() == 0) store_all(at, 7);
  at.barrier();
  if (at.me() == 1) {
    constexpr PageNumber written = 100;
    for (PageNumber page = 0; page < written; page++) at.words[page * at.page_words + 1] = page;
    for (PageNumber page = written + 1; page < many_pages; page++) {
      const auto begin = reinterpret_cast<std::uintptr_t>(&at.words[page * at.page_words]);
      std::uint64_t found;
      std::memcpy(&found, reinterpret_cast<const void*>(begin - sizeof found / 2), sizeof found);
      check(found == (7 + page) << 32, "the load has both pages", found);
    }
  }
  at.barrier();
  return at.finish();
}

TEST_P(LimitedCopies, AreEnoughForALoadFromTwoPages) {
  TestJob("loads_across_pages", 2, {{"IW_DSM_CACHE", "256K"}, {"IW_DSM_DIRECT", GetParam()}})
      .expect_success();
}

// A call loads more pages than the limit. [DSM-COPY-2]
ROLE(long_output) {
  Member at;
  begin_at_0(at);
  if (at.me() == 0) store_all(at, 7);
  at.barrier();
  if (at.me() == 1) {
    const auto* const heap = reinterpret_cast<const char*>(at.node->heap().begin());
    const std::size_t bytes = many_pages * at.node->heap().page_bytes();
    std::FILE* const file = std::tmpfile();
    check(file != nullptr, "there is a file");
    const ssize_t written = write(fileno(file), heap, bytes);
    check(written == static_cast<ssize_t>(bytes), "a long write is whole", errno);
    check(std::fseek(file, 0, SEEK_END) == 0, "the file ends behind it");
    check(std::fwrite(heap, 1, bytes, file) == bytes, "so is an item of stdio", errno);
    check(std::fflush(file) == 0, "the file has all");
    std::vector<std::uint64_t> found(2 * bytes / sizeof(std::uint64_t));
    check(pread(fileno(file), found.data(), 2 * bytes, 0) == static_cast<ssize_t>(2 * bytes),
          "all is in the file");
    for (PageNumber page = 0; page < 2 * many_pages; page++) {
      const std::uint64_t word = found[page * at.page_words];
      check(word == 7 + page % many_pages, "the file has what was stored", word);
    }
    std::fclose(file);
  }
  at.barrier();
  return at.finish();
}

TEST_P(LimitedCopies, DoNotLimitWhatACallLoads) {
  TestJob("long_output", 2, {{"IW_DSM_CACHE", "256K"}, {"IW_DSM_DIRECT", GetParam()}})
      .expect_success();
}

// Threads that load a page at one time ask for it once.
ROLE(faults_at_one_time) {
  Member at;
  begin_at_0(at);
  if (at.me() == 0) store_all(at, 1);
  at.barrier();
  if (at.me() == 1) {
    constexpr int threads = 4;
    std::vector<std::thread> all;
    std::atomic<int> ready{0};
    for (int i = 0; i < threads; i++) {
      all.emplace_back([&] {
        ready++;
        while (ready != threads) std::this_thread::yield();
        check_all(at, 0, 1);
      });
    }
    for (std::thread& each : all) each.join();
    const Stats stats = at.node->stats();
    const std::uint64_t asked = stats.mail.messages[static_cast<std::size_t>(Message::ask_page)];
    check(asked == many_pages, "each page is asked for once", asked);
  }
  at.barrier();
  return at.finish();
}

TEST(NodeMemory, TwoFaultsOnOnePageAreOneFetch) {
  TestJob("faults_at_one_time", 2, {{"IW_DSM_DIRECT", "no"}}).expect_success();
}

// Each rank writes its half of all pages in each interval: faults become few. [DSM-COPY-1]
ROLE(written_again) {
  Member at;
  begin_at_0(at);
  constexpr std::uint64_t rounds = 16;
  for (std::uint64_t round = 1; round <= rounds; round++) {
    store_all(at, round);
    at.barrier();
    for (Rank rank = 0; rank < at.ranks(); rank++) check_all(at, rank, round);
    at.barrier();
  }
  const Stats stats = at.node->stats();
  check(stats.misses < rounds * many_pages / 2, "a fault opens its neighbours", stats.misses);
  check(stats.pages.opened_ahead > rounds * many_pages / 2, "which are counted",
        stats.pages.opened_ahead);
  return at.finish();
}

class WrittenAgain : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Direct, WrittenAgain, ::testing::Values("yes", "no"));

TEST_P(WrittenAgain, PagesAreOpenedAhead) {
  TestJob("written_again", 2, {{"IW_DSM_DIRECT", GetParam()}}).expect_success();
}

}  // namespace iw::dsm
