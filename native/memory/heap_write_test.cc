// Writer sections: what is found to have changed, commit, rollback.
#include <algorithm>
#include <atomic>
#include <memory>
#include <tuple>

#include "memory/heap_fixture.h"

namespace iw::memory {
namespace {

using HeapWrite = EachHeap;

struct Part {
  std::uint64_t serial;
  std::size_t offset;
  std::size_t length;
  friend bool operator==(const Part&, const Part&) = default;
};

std::vector<Part> parts_of(const Heap& heap, const std::vector<SubsegmentRuns>& runs) {
  std::vector<Part> parts;
  heap.for_each_part(runs, [&](const BlockPart& part) {
    parts.push_back({part.block.serial, part.offset_bytes, part.length_bytes});
    EXPECT_EQ(part.view, part.block.address + part.offset_bytes);
  });
  return parts;
}

std::vector<SubsegmentRuns> changes(Heap& heap) {
  std::vector<SubsegmentPages> pages;
  std::vector<SubsegmentRuns> runs;
  EXPECT_TRUE(heap.collect(pages).ok());
  EXPECT_TRUE(heap.changed_runs(pages, runs).ok());
  return runs;
}

TEST_P(HeapWrite, FindsWhatWasStoredBlockByBlock) {
  const Block a = committed(int_type(), 100, {1, 1});
  const Block b = committed(int_type(), 100, {2, 1});
  const Block far = committed(char_type(), 1'000'000, {3, 1});
  IW_OK(begin_write(heap(), {4, 1}));
  int_at(a, 10) = 1;
  int_at(a, 99) = 2;
  int_at(b, 0) = 3;
  far.address[999'999] = std::byte{7};
  const auto runs = changes(heap());
  auto parts = parts_of(heap(), runs);
  std::sort(parts.begin(), parts.end(), [](const Part& x, const Part& y) {
    return std::tie(x.serial, x.offset) < std::tie(y.serial, y.offset);
  });
  EXPECT_EQ(parts, (std::vector<Part>{{1, 40, 4}, {1, 396, 4}, {2, 0, 4}, {3, 999'996, 4}}));
  IW_OK(heap().commit_write(runs));
  IW_OK(begin_write(heap(), {4, 1}));
  EXPECT_TRUE(changes(heap()).empty());
  IW_OK(heap().commit_write({}));
}

TEST_P(HeapWrite, ARunOverSeveralBlocksComesInParts) {
  const Block a = committed(char_type(), 31, {1, 1});
  const Block b = committed(char_type(), 32, {2, 1});
  ASSERT_EQ(b.address, a.address + 32);
  IW_OK(begin_write(heap(), {3, 1}));
  std::memset(a.address, 1, 64);  // also the byte between them, which is nobody's
  const auto runs = changes(heap());
  EXPECT_EQ(parts_of(heap(), runs), (std::vector<Part>{{1, 0, 31}, {2, 0, 32}}));
  IW_OK(heap().commit_write(runs));
  EXPECT_EQ(a.address[30], std::byte{1});
  EXPECT_EQ(a.address[31], std::byte{0}) << "a store between blocks stayed";
}

TEST_P(HeapWrite, StoresBehindABlockAreUndone) {
  const Block block = committed(char_type(), 32, {1, 1});
  IW_OK(begin_write(heap(), {2, 1}));
  std::memset(block.address, 1, 36);
  IW_OK(release(heap()));
  EXPECT_EQ(block.address[31], std::byte{1});
  EXPECT_EQ(block.address[32], std::byte{0});
}

TEST_P(HeapWrite, StoresIntoFreeSpaceNeverReachANewBlock) {
  const Block block = committed(char_type(), 64, {1, 1});
  IW_OK(begin_write(heap(), {2, 1}));
  std::memset(block.address, 1, 4000);
  IW_OK(release(heap()));
  IW_OK(begin_write(heap(), {2, 1}));
  Block fresh;
  IW_OK(heap().allocate(char_type(), 3000, "", false, fresh));
  EXPECT_TRUE(is_all_zero(fresh));
  EXPECT_TRUE(changes(heap()).empty());
  IW_OK(heap().commit_write({}));
}

TEST_P(HeapWrite, ARollbackRestoresBytesBlocksAndNames) {
  const Block kept = committed(int_type(), 1000, {1, 1}, "kept");
  const Block big = committed(int_type(), 1'000'000, {2, 1}, "big");
  IW_OK(begin_write(heap(), {3, 10}));
  int_at(kept, 500) = 77;
  int_at(big, 999'999) = 78;
  IW_OK(heap().free(1));
  IW_OK(heap().free(2));
  Block found;
  EXPECT_FALSE(heap().find("kept", found));
  EXPECT_FALSE(heap().find_at(kept.address, found));
  Block created;
  Block created_big;
  IW_OK(heap().allocate(int_type(), 1000, "kept", false, created));
  IW_OK(heap().allocate(int_type(), 1'000'000, "", false, created_big));
  EXPECT_NE(created.address, kept.address);
  int_at(created, 3) = 5;
  std::vector<SubsegmentPages> pages;
  IW_OK(heap().collect(pages));
  int_at(kept, 501) = 79;  // after the collect, without the lock
  IW_OK(heap().rollback_write());

  ASSERT_TRUE(heap().find("kept", found));
  EXPECT_EQ(found.serial, 1U);
  EXPECT_FALSE(found.is_freed);
  EXPECT_TRUE(is_all_zero(found));
  ASSERT_TRUE(heap().find(2, found));
  EXPECT_TRUE(is_all_zero(found));
  EXPECT_FALSE(heap().find(3, found));
  EXPECT_FALSE(heap().find(4, found));
  EXPECT_FALSE(heap().find_at(created.address, found));
  EXPECT_EQ(heap().usage().blocks, 2U);

  IW_OK(begin_write(heap(), {13, 1}));
  IW_OK(heap().allocate(int_type(), 1000, "", false, created));
  EXPECT_TRUE(is_all_zero(created)) << "bytes of the section that was undone";
  IW_OK(release(heap()));
}

TEST_P(HeapWrite, FreedSpaceIsUsedAgainOnlyAfterTheCommit) {
  const Block old = committed(int_type(), 1000, {1, 1});
  IW_OK(begin_write(heap(), {2, 10}));
  int_at(old, 7) = 1;
  IW_OK(release(heap()));
  IW_OK(begin_write(heap(), {2, 10}));
  IW_OK(heap().free(1));
  ASSERT_EQ(heap().freed().size(), 1U);
  EXPECT_EQ(heap().freed()[0].serial, 1U);
  EXPECT_EQ(int_at(heap().freed()[0], 7), 1) << "a freed block's bytes stay until the commit";
  Block during;
  IW_OK(heap().allocate(int_type(), 1000, "", false, during));
  EXPECT_NE(during.address, old.address);
  IW_OK(release(heap()));
  IW_OK(begin_write(heap(), {12, 10}));
  Block after;
  IW_OK(heap().allocate(int_type(), 1000, "", false, after));
  EXPECT_EQ(after.address, old.address);
  EXPECT_TRUE(is_all_zero(after));
  std::vector<SubsegmentRuns> sent;
  IW_OK(release(heap(), &sent));
  EXPECT_TRUE(sent.empty()) << "a zero block has nothing to send";
}

TEST_P(HeapWrite, ABlockMadeAndFreedInOneSectionLeavesNothing) {
  IW_OK(begin_write(heap(), {1, 100}));
  std::byte* place = nullptr;
  for (int i = 0; i < 50; ++i) {
    Block block;
    IW_OK(heap().allocate(int_type(), 100, "name", false, block));
    EXPECT_TRUE(place == nullptr || place == block.address) << "its space was not used again";
    place = block.address;
    EXPECT_TRUE(is_all_zero(block));
    std::memset(block.address, 0xEE, block.size_bytes);
    IW_OK(heap().free(block.serial));
  }
  EXPECT_TRUE(heap().created().empty());
  EXPECT_TRUE(heap().freed().empty());
  std::vector<SubsegmentRuns> sent;
  IW_OK(release(heap(), &sent));
  EXPECT_TRUE(sent.empty());
}

// A release that could not be made: the program mends its data and tries again.
TEST_P(HeapWrite, ASectionMayGoOnAfterACollect) {
  const Block block = committed(int_type(), 100'000, {1, 1});
  IW_OK(begin_write(heap(), {2, 10}));
  Block large;
  IW_OK(heap().allocate(int_type(), 1'000'000, "", false, large));
  int_at(large, 5) = 4;
  int_at(block, 10) = 1;
  EXPECT_EQ(changes(heap()).size(), 2U);
  IW_OK(heap().resume_write());
  IW_OK(heap().free(large.serial));
  int_at(block, 90'000) = 2;
  const auto runs = changes(heap());
  EXPECT_EQ(parts_of(heap(), runs), (std::vector<Part>{{1, 40, 4}, {1, 360'000, 4}}));
  IW_OK(heap().resume_write());
  int_at(block, 50'000) = 3;
  IW_OK(heap().rollback_write());
  EXPECT_TRUE(is_all_zero(block));
}

TEST_P(HeapWrite, OnlyStoresOutsideOfASectionAreStrays) {
  static std::atomic<int> strays{0};
  const Block block = committed(int_type(), 10, {1, 1});
  track::set_stray_handler([](void*, track::Access) noexcept { ++strays; });
  IW_OK(begin_write(heap(), {2, 10}));
  (void)changes(heap());
  IW_OK(heap().resume_write());
  int_at(block, 3) = 1;
  Block large;
  IW_OK(heap().allocate(int_type(), 1'000'000, "", false, large));
  int_at(large, 3) = 1;
  EXPECT_EQ(strays.load(), 0);
  IW_OK(abort(heap()));
  int_at(block, 3) = 1;
  EXPECT_EQ(strays.load(), GetParam() == "sigsegv" ? 1 : 0);
  strays = 0;
  track::set_stray_handler(nullptr);
}

TEST_P(HeapWrite, CreatedBlocksAreListedInOrder) {
  IW_OK(begin_write(heap(), {10, 10}));
  Block block;
  for (int i = 0; i < 3; ++i) IW_OK(heap().allocate(int_type(), 1, "", false, block));
  IW_OK(heap().free(11));
  const auto created = heap().created();
  ASSERT_EQ(created.size(), 2U);
  EXPECT_EQ(created[0].serial, 10U);
  EXPECT_EQ(created[1].serial, 12U);
  IW_OK(release(heap()));
  ASSERT_TRUE(heap().find(10, block));
  EXPECT_FALSE(block.is_new);
}

TEST_P(HeapWrite, AStoreOutsideALockIsListedAndUndone) {
  const Block block = committed(int_type(), 1000, {1, 1});
  int_at(block, 9) = 1;
  std::vector<SubsegmentPages> pages;
  std::vector<SubsegmentRuns> runs;
  IW_OK(heap().collect(pages));
  IW_OK(heap().changed_runs(pages, runs));
  EXPECT_EQ(parts_of(heap(), runs), (std::vector<Part>{{1, 36, 4}}));
  IW_OK(heap().undo(pages));
  EXPECT_TRUE(is_all_zero(block));
}

TEST_P(HeapWrite, AFreedSerialDoesNotComeBack) {
  IW_OK(begin_write(heap(), {1, 1}));
  Block block;
  IW_OK(heap().allocate(int_type(), 1, "", false, block));
  IW_OK(heap().free(1));
  EXPECT_EQ(heap().allocate(int_type(), 1, "", false, block).code, error_code::TOO_LARGE);
  IW_OK(abort(heap()));
}

TEST_P(HeapWrite, SubsegmentsMadeInASectionMayBeStoredTo) {
  IW_OK(begin_write(heap()));
  Block block;
  IW_OK(heap().allocate(int_type(), 500'000, "", false, block));
  int_at(block, 400'000) = 6;
  const auto runs = changes(heap());
  EXPECT_EQ(parts_of(heap(), runs), (std::vector<Part>{{1, 1'600'000, 4}}));
  IW_OK(heap().commit_write(runs));
  IW_OK(begin_write(heap(), {5, 1}));
  IW_OK(abort(heap()));
  EXPECT_EQ(int_at(block, 400'000), 6);
}

IW_FOR_EACH_HEAP(HeapWrite);

}  // namespace
}  // namespace iw::memory
