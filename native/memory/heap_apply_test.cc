// What arrives: blocks created and erased by incoming diffs, complete copies.
#include "memory/heap_fixture.h"

namespace iw::memory {
namespace {

using HeapApply = EachHeap;

TEST_P(HeapApply, ArrivedBytesAreSeenAndAreNoChange) {
  Block block;
  IW_OK(heap().insert(1, int_type(), 5000, "", false, block));
  const int values[3] = {1, 2, 3};
  IW_OK(write_incoming(heap(), block, 400, values, sizeof values));
  EXPECT_EQ(int_at(block, 101), 2);
  std::vector<SubsegmentPages> pages;
  std::vector<SubsegmentRuns> runs;
  IW_OK(heap().collect(pages));
  IW_OK(heap().changed_runs(pages, runs));
  EXPECT_TRUE(runs.empty());
}

TEST_P(HeapApply, NothingIsWrittenOutsideOfABlock) {
  Block block;
  IW_OK(heap().insert(1, int_type(), 10, "", false, block));
  EXPECT_NE(heap().begin_apply(block, 0, 40), nullptr);
  EXPECT_NE(heap().begin_apply(block, 40, 0), nullptr);
  EXPECT_EQ(heap().begin_apply(block, 1, 40), nullptr);
  EXPECT_EQ(heap().begin_apply(block, 41, 0), nullptr);
  EXPECT_EQ(heap().begin_apply(block, ~std::size_t{0}, 2), nullptr);
  IW_OK(heap().apply_done());
}

TEST_P(HeapApply, ErasedSpaceIsZeroAndUsedAgain) {
  Block block;
  IW_OK(heap().insert(1, int_type(), 100, "one", false, block));
  const int value = 9;
  IW_OK(write_incoming(heap(), block, 0, &value, sizeof value));
  // Private pages, too.
  IW_OK(begin_write(heap(), {10, 1}));
  int_at(block, 50) = 8;
  IW_OK(release(heap()));
  IW_OK(heap().erase(1));
  Block next;
  IW_OK(heap().insert(2, int_type(), 100, "one", false, next));
  EXPECT_EQ(next.address, block.address);
  IW_OK(heap().apply_done());
  EXPECT_TRUE(is_all_zero(next));
}

TEST_P(HeapApply, ACompleteCopyKeepsPlacesAndErasesTheRest) {
  Block a;
  Block b;
  Block c;
  Block r;
  IW_OK(heap().insert(1, int_type(), 10, "a", false, a));
  IW_OK(heap().insert(2, int_type(), 10, "b", false, b));
  IW_OK(heap().insert(3, int_type(), 10, "c", false, c));
  IW_OK(heap().reserve(4, int_type(), 10, "", r));
  const int value = 9;
  for (const Block& block : {a, b, c}) {
    IW_OK(write_incoming(heap(), block, 4, &value, sizeof value));
  }
  Block found;
  IW_OK(heap().begin_full_copy());
  EXPECT_FALSE(heap().find(1, found));
  EXPECT_FALSE(heap().find("a", found));
  // A new incarnation: 2 has another type, 3 goes and its name is another block's.
  IW_OK(heap().insert(1, int_type(), 10, "a", false, found));
  EXPECT_EQ(found.address, a.address);
  IW_OK(heap().insert(2, double_type(), 10, "c", true, found));
  IW_OK(heap().insert(4, int_type(), 10, "", false, found));
  EXPECT_EQ(found.address, r.address);
  EXPECT_FALSE(found.is_reserved);
  IW_OK(heap().end_full_copy());
  IW_OK(heap().apply_done());
  EXPECT_FALSE(heap().find(3, found));
  ASSERT_TRUE(heap().find("c", found));
  EXPECT_EQ(found.serial, 2U);
  EXPECT_TRUE(found.is_owned);
  EXPECT_TRUE(is_all_zero(found));
  ASSERT_TRUE(heap().find("a", found));
  EXPECT_TRUE(is_all_zero(found)) << "data of the copy before";
  EXPECT_FALSE(heap().find("b", found));
  EXPECT_EQ(heap().usage().blocks, 3U);
}

TEST_P(HeapApply, ACompleteCopyMayGiveABlockAnotherName) {
  Block block;
  IW_OK(heap().insert(1, int_type(), 10, "old", false, block));
  IW_OK(heap().insert(2, int_type(), 10, "other", false, block));
  IW_OK(heap().begin_full_copy());
  IW_OK(heap().insert(1, int_type(), 10, "other", false, block));
  IW_OK(heap().insert(2, int_type(), 10, "old", false, block));
  IW_OK(heap().end_full_copy());
  ASSERT_TRUE(heap().find("other", block));
  EXPECT_EQ(block.serial, 1U);
  ASSERT_TRUE(heap().find("old", block));
  EXPECT_EQ(block.serial, 2U);
}

TEST_P(HeapApply, ACompleteCopyMayBeEmpty) {
  Block block;
  for (std::uint64_t serial = 1; serial <= 1000; ++serial) {
    IW_OK(heap().insert(serial, char_type(), serial * 10, "", false, block));
  }
  IW_OK(heap().begin_full_copy());
  IW_OK(heap().end_full_copy());
  IW_OK(heap().apply_done());
  EXPECT_EQ(heap().usage().blocks, 0U);
  EXPECT_EQ(heap().usage().native_bytes, 0U);
  EXPECT_EQ(heap().usage().subsegments, 1U);
  EXPECT_FALSE(heap().next_by_serial(0, block));
  EXPECT_FALSE(heap().next_by_address(nullptr, block));
}

IW_FOR_EACH_HEAP(HeapApply);

}  // namespace
}  // namespace iw::memory
