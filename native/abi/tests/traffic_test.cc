// What travels: bytes and diffs in proportion to what changed, what a fresh copy looks like, and
// what tracking costs when everything changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "abi/tests/server_process.h"
#include "abi/tests/statistics.h"
#include "interweave.h"
#include "platform/memory.h"

namespace iw::test {
namespace {

class Traffic : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.good());
    url_ = server_.url("/traffic");
    segment_ = IW_open_segment(url_.c_str());
    ASSERT_NE(segment_, nullptr) << IW_strerror();
  }
  void TearDown() override {
    if (segment_ == nullptr) return;
    EXPECT_EQ(IW_close_segment(segment_), 0) << IW_strerror();
  }

  void begin() { ASSERT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror(); }
  void commit() { ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror(); }
  int* make(std::size_t count, const std::string& name) {
    auto* const block = static_cast<int*>(IW_malloc_array(segment_, IW_int, count, name.c_str()));
    EXPECT_NE(block, nullptr) << IW_strerror();
    return block;
  }
  // The copy is dropped and fetched anew.
  void fetch() {
    ASSERT_EQ(IW_close_segment(segment_), 0);
    segment_ = IW_open_segment(url_.c_str());
    ASSERT_NE(segment_, nullptr) << IW_strerror();
    ASSERT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
    ASSERT_EQ(IW_rl_release(segment_), 0);
  }
  int* find(const std::string& name) {
    return static_cast<int*>(IW_mip_to_ptr((url_ + "#" + name).c_str()));
  }
  void read() {
    ASSERT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
    ASSERT_EQ(IW_rl_release(segment_), 0);
  }
  IW_stats_t stats() { return stats_of(segment_); }

  Server server_;
  std::string url_;
  IW_handle_t segment_ = nullptr;
};

constexpr std::size_t mebibyte_ints = std::size_t{1} << 18;

// At most the changed bytes and 3 per cent, 8 a run and 64 a release.
TEST_F(Traffic, AReleaseSendsWhatChangedAndLittleMore) {
  begin();
  int* const numbers = make(mebibyte_ints, "numbers");
  commit();
  for (std::size_t part = 1; part <= 4096; part *= 4) {
    for (const bool scattered : {false, true}) {
      // One run of so many ints, or every so-many-th int. Gaps of two words are joined.
      if (scattered && part > 1 && part < 4) continue;
      const std::size_t count = mebibyte_ints / part;
      const std::uint64_t before = stats().bytes_sent;
      const std::uint64_t asking = 200;  // the messages that ask for the lock and release it
      begin();
      for (std::size_t i = 0; i < count; ++i) ++numbers[scattered ? i * part : i];
      commit();
      const std::uint64_t runs = scattered && part > 1 ? count : 1;
      const std::uint64_t allowed = count * 4 + count * 4 * 3 / 100 + 8 * runs + 64;
      EXPECT_LE(stats().bytes_sent - before, allowed + asking) << part << " " << scattered;
      EXPECT_GE(stats().bytes_sent - before, count * 4);
    }
  }
}

// The work of a release is in what it looks at. How long it takes: make bench ONLY=granularity.
TEST_F(Traffic, AReleaseOfLittleLooksAtLittle) {
  const char* const forced = std::getenv("IW_TRACKER");
  if (forced != nullptr && std::string(forced) == "compare") GTEST_SKIP() << "it looks at all";
  begin();
  int* const numbers = make(4 * mebibyte_ints, "numbers");
  commit();
  constexpr std::uint64_t page_bytes = 65536;  // the largest that machines have
  for (const std::size_t part : {4096U, 64U, 1U}) {
    const std::uint64_t changed_bytes = 4 * mebibyte_ints * sizeof(int) / part;
    for (int round = 0; round < 3; ++round) {
      begin();
      for (std::size_t i = 0; i < 4 * mebibyte_ints / part; ++i) ++numbers[i];
      const std::uint64_t before = stats().compared_bytes;
      commit();
      const std::uint64_t looked_at = stats().compared_bytes - before;
      EXPECT_GE(looked_at, changed_bytes) << part;
      EXPECT_LE(looked_at, changed_bytes + 2 * page_bytes) << part;
    }
  }
}

TEST_F(Traffic, Coh7WhoIsManyVersionsBehindGetsOneDiffOfWhatIsDifferent) {
  begin();
  make(10000, "numbers");
  commit();
  Agent writer;
  ASSERT_EQ(writer.tell("open " + url_), "ok");
  for (const int versions : {1, 2, 100}) {
    read();
    const IW_stats_t before = stats();
    for (int i = 0; i < versions; ++i) {
      ASSERT_EQ(writer.tell("add numbers " + std::to_string(50 * (i % 20)) + " 1"), "ok");
    }
    ASSERT_EQ(IW_rl_acquire_for(segment_, 30, IW_FRESH), 0) << IW_strerror();
    ASSERT_EQ(IW_rl_release(segment_), 0);
    const IW_stats_t after = stats();
    EXPECT_EQ(after.diffs_received, before.diffs_received + 1) << versions;
    EXPECT_EQ(after.full_copies, before.full_copies);
    EXPECT_EQ(after.version, after.newest_known);
    // 20 subblocks of 16 ints at most.
    EXPECT_LE(after.diff_bytes_received - before.diff_bytes_received, 20u * (64 + 8) + 64);
  }
}

TEST_F(Traffic, OfAThousandBlocksOnlyTheChangedOneIsSent) {
  begin();
  for (int i = 0; i < 1000; ++i) make(100, "block" + std::to_string(i));
  commit();
  Agent writer;
  ASSERT_EQ(writer.tell("open " + url_), "ok");
  read();
  const IW_stats_t before = stats();
  // Two versions, so that the server collects and does not forward.
  ASSERT_EQ(writer.tell("add block500 40 2"), "ok");
  read();
  const IW_stats_t after = stats();
  EXPECT_EQ(find("block500")[40], 2);
  EXPECT_EQ(after.diffs_received, before.diffs_received + 1);
  EXPECT_LE(after.diff_bytes_received - before.diff_bytes_received, 64u + 32);
  EXPECT_LE(after.bytes_received - before.bytes_received, 64u + 32 + 100);
}

// Four critical sections change every fourth block each.
TEST_F(Traffic, BlocksChangedTogetherLieTogetherInAFreshCopy) {
  constexpr int blocks = 256;
  constexpr int sections = 4;
  constexpr std::size_t ints = 60;
  begin();
  for (int i = 0; i < blocks; ++i) make(ints, "block" + std::to_string(i));
  commit();
  const auto spread = [&](int section) {
    const int* lowest = nullptr;
    const int* highest = nullptr;
    for (int i = section; i < blocks; i += sections) {
      const int* const block = find("block" + std::to_string(i));
      EXPECT_EQ(block[0], section);
      if (lowest == nullptr || block < lowest) lowest = block;
      if (highest == nullptr || block > highest) highest = block;
    }
    return static_cast<std::size_t>(highest - lowest) * sizeof(int);
  };
  for (int section = 0; section < sections; ++section) {
    begin();
    for (int i = section; i < blocks; i += sections) {
      int* const block = find("block" + std::to_string(i));
      block[0] = section;
      block[1] = 1;
    }
    commit();
  }
  constexpr std::size_t together = blocks / sections * (ints * sizeof(int) + 16);
  EXPECT_GT(spread(1), 3 * together)
      << "in the copy that made them they lie in the order of making";
  fetch();
  for (int section = 0; section < sections; ++section) EXPECT_LE(spread(section), together);
}

bool finds_pages_exactly() {
  if (platform::page_size() != 4096) return false;  // the counts below are of such pages
  const char* const forced = std::getenv("IW_TRACKER");
  return forced == nullptr || std::string(forced) == "wp-async" || std::string(forced) == "sigsegv";
}

bool is_switched() { return std::getenv("IW_OPTIMISATIONS") != nullptr; }

// The no-diff mode: after a few rewrites no store is trapped. After sparse stores the pages that
// are no longer stored to are watched again, and not compared.
TEST_F(Traffic, RewritingEverythingCostsNoFaultsAndSparseStoresAreFoundAgain) {
  if (!finds_pages_exactly() || is_switched()) GTEST_SKIP() << "there is no such mode";
  constexpr std::size_t pages = 64;
  constexpr std::size_t page_ints = 1024;
  constexpr std::size_t page_bytes = page_ints * sizeof(int);
  constexpr int idle_sections = 60;  // that an open page may stay open, at most
  begin();
  int* const numbers = make(pages * page_ints, "numbers");
  commit();
  const auto faults_of = [&](std::size_t stored) {
    const std::uint64_t before = stats().faults;
    begin();
    for (std::size_t page = 0; page < stored; ++page) {
      for (std::size_t i = 0; i < page_ints; ++i) ++numbers[page * page_ints + i];
    }
    commit();
    return stats().faults - before;
  };
  EXPECT_GE(faults_of(pages), pages) << "the first time each page is";
  int free_of_faults = 0;
  for (int round = 0; round < 40; ++round) free_of_faults += faults_of(pages) == 0 ? 1 : 0;
  EXPECT_GE(free_of_faults, 30);
  for (int round = 0; round < idle_sections + 10; ++round) {
    const IW_stats_t before = stats();
    EXPECT_LE(faults_of(1), 2u);
    const IW_stats_t after = stats();
    EXPECT_LE(after.diff_bytes_sent - before.diff_bytes_sent, page_bytes * 103 / 100 + 72);
    if (round > idle_sections) {
      EXPECT_LE(after.compared_bytes - before.compared_bytes, 2 * page_bytes) << round;
    }
  }
}

TEST_F(Traffic, FaultsAreThePagesStoredTo) {
  if (!finds_pages_exactly()) GTEST_SKIP() << "this mechanism looks at more";
  constexpr std::size_t page_ints = 1024;
  begin();
  int* const numbers = make(200 * page_ints, "numbers");
  commit();
  for (const std::size_t step : {50U, 20U, 7U}) {
    const std::uint64_t before = stats().faults;
    begin();
    std::size_t stored = 0;
    for (std::size_t page = 0; page < 200; page += step, ++stored) {
      for (int i = 0; i < 10; ++i) ++numbers[page * page_ints + i];
    }
    commit();
    EXPECT_EQ(stats().faults - before, stored);
  }
}

// The other half of the no-diff mode: what is rewritten whole is not compared either.
class WholeRewrites : public Traffic {
 protected:
  void SetUp() override {
    Traffic::SetUp();
    if (is_switched()) GTEST_SKIP() << "the mode may be off";
  }

  // Rewrites so many of the ints, or changes nothing of what it stores to, and says what the
  // release took. At most 3 per cent more than what changed is sent, a release that brings the
  // change of ways included.
  IW_stats_t rewrite(std::span<int* const> blocks, std::size_t count) {
    const IW_stats_t before = stats();
    begin();
    for (int* const block : blocks) {
      for (std::size_t i = 0; i < count; ++i) ++block[i];
    }
    commit();
    IW_stats_t after = stats();
    const std::uint64_t changed = blocks.size() * count * 4;
    EXPECT_LE(after.diff_bytes_sent - before.diff_bytes_sent,
              changed + changed * 3 / 100 + 8 * blocks.size() + 64);
    after.compared_bytes -= before.compared_bytes;
    after.whole_bytes -= before.whole_bytes;
    return after;
  }
};

TEST_F(WholeRewrites, ALargeBlockIsNotComparedButFromTimeToTime) {
  begin();
  int* const numbers = make(mebibyte_ints, "numbers");
  int* const others = make(mebibyte_ints, "others");
  commit();
  int whole = 0;
  for (int round = 0; round < 40; ++round) {
    const IW_stats_t took = rewrite(std::span(&numbers, 1), mebibyte_ints);
    if (took.whole_bytes == 0) continue;
    EXPECT_EQ(took.whole_bytes, mebibyte_ints * 4);
    ++whole;
  }
  EXPECT_GE(whole, 30);
  EXPECT_LE(whole, 38) << "compared again from time to time";
  // The other block is in diff mode all the while.
  EXPECT_EQ(rewrite(std::span(&others, 1), 10).whole_bytes, 0u);
  fetch();
  EXPECT_EQ(find("numbers")[mebibyte_ints - 1], 40);
}

TEST_F(WholeRewrites, ASegmentOfManyBlocksIsNotComparedEither) {
  constexpr std::size_t count = 50;
  constexpr std::size_t block_ints = 2000;
  std::vector<int*> blocks;
  begin();
  for (std::size_t i = 0; i < count; ++i)
    blocks.push_back(make(block_ints, "b" + std::to_string(i)));
  commit();
  int whole = 0;
  for (int round = 0; round < 20; ++round) {
    const IW_stats_t took = rewrite(blocks, block_ints);
    if (took.whole_bytes == 0) continue;
    EXPECT_EQ(took.whole_bytes, count * block_ints * 4);
    ++whole;
  }
  EXPECT_GE(whole, 14);
  fetch();
  EXPECT_EQ(find("b49")[block_ints - 1], 20);
}

struct Linked {
  int numbers[16384];
  int* link;
};
const IW_type_def numbers_def =
    IW_ARRAY_DEF("", sizeof(Linked::numbers), alignof(int), &IW_def_int, 16384);
const IW_type_def link_def = IW_POINTER_DEF("", &IW_def_int);
const IW_field_def linked_fields[] = {{"numbers", &numbers_def, 0},
                                      {"link", &link_def, offsetof(Linked, link)}};
const IW_type_def linked_def =
    IW_RECORD_DEF("traffic_linked", sizeof(Linked), alignof(Linked), linked_fields, 2);

// A pointer that nobody stored to must not travel: its block may be freed and its place taken.
TEST_F(WholeRewrites, Diff9ABlockThatHoldsAPointerIsAlwaysCompared) {
  const IW_type_t type = &linked_def;
  ASSERT_EQ(IW_register_types(&type, 1), 0);
  begin();
  auto* const linked = static_cast<Linked*>(IW_malloc_named(segment_, type, "linked"));
  ASSERT_NE(linked, nullptr) << IW_strerror();
  linked->link = make(1, "target");
  commit();
  int* const numbers = linked->numbers;
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(rewrite(std::span(&numbers, 1), 16384).whole_bytes, 0u) << round;
  }
}

TEST_F(WholeRewrites, WhoChangesLittleAgainIsComparedAtOnce) {
  begin();
  int* const numbers = make(mebibyte_ints, "numbers");
  commit();
  for (const std::size_t count : {std::size_t{1}, std::size_t{0}, mebibyte_ints / 2}) {
    std::uint64_t whole = 0;
    for (int round = 0; round < 10; ++round) {
      whole = rewrite(std::span(&numbers, 1), mebibyte_ints).whole_bytes;
      if (whole > 0) break;
    }
    ASSERT_GT(whole, 0u);
    for (int round = 0; round < 20; ++round) {
      EXPECT_EQ(rewrite(std::span(&numbers, 1), count).whole_bytes, 0u) << count;
    }
  }
}

}  // namespace
}  // namespace iw::test
