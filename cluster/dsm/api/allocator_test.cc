// Blocks do not overlap, whoever allocates and frees them, and wrong addresses are told.
#include "dsm/api/allocator.h"

#include <gtest/gtest.h>

#include <memory>
#include <unordered_map>
#include <vector>

#include "testing/seed.h"

namespace iw::dsm {
namespace {

constexpr HeapAddress heap = 0x10000;
constexpr std::uint64_t page = 4096;

// Headers that all ranks see at once, as after a synchronisation.
class Memory final : public BlockHeaders {
 public:
  BlockHeader load(HeapAddress at) override { return at_[at]; }
  void store(HeapAddress at, const BlockHeader& header) override { at_[at] = header; }

 private:
  std::unordered_map<HeapAddress, BlockHeader> at_;
};

TEST(Allocator, DsmBlock1AllRanksGetTheSameAddressesInTheReplay) {
  Memory memories[2];
  Allocator first(heap, heap + 64 * page, page, memories[0]);
  Allocator second(heap, heap + 64 * page, page, memories[1]);
  for (const std::uint64_t bytes : {1u, 100u, 4096u, 40u, 5000u, 0u}) {
    const auto there = first.allocate(bytes);
    ASSERT_TRUE(there);
    EXPECT_EQ(there, second.allocate(bytes));
    if (bytes == 100) {
      EXPECT_EQ(first.free(*there), Allocator::Freed::freed);
      EXPECT_EQ(second.free(*there), Allocator::Freed::freed);
    }
  }
  EXPECT_EQ(first.reached_end(), second.reached_end());
  EXPECT_EQ(first.reached_end() % page, 0u);
}

TEST(Allocator, BlocksFromThePageOnAreAlignedToAPageAndSmallOnesFillTheGap) {
  Memory memory;
  Allocator blocks(heap, heap + 64 * page, page, memory);
  const auto large = blocks.allocate(page);
  const auto small = blocks.allocate(24);
  ASSERT_TRUE(large && small);
  EXPECT_EQ(*large % page, 0u);
  EXPECT_EQ(*small % block_alignment, 0u);
  EXPECT_LT(*small, *large) << "the room in front of the large block is lost";
}

TEST(Allocator, DsmBlock1RanksTakeFromSharesOfTheirOwnAfterTheReplay) {
  Memory memory;
  std::vector<std::unique_ptr<Allocator>> ranks;
  for (Rank rank = 0; rank < 3; rank++) {
    ranks.push_back(std::make_unique<Allocator>(heap, heap + 64 * page, page, memory));
    ASSERT_TRUE(ranks.back()->allocate(3 * page));
  }
  const HeapAddress shared = ranks[0]->reached_end();
  HeapAddress last_end = shared;
  for (Rank rank = 0; rank < 3; rank++) {
    ranks[rank]->end_replay(rank, 3);
    const auto block = ranks[rank]->allocate(2 * page);
    ASSERT_TRUE(block);
    EXPECT_GE(*block, last_end);
    last_end = *block + 2 * page;
  }
}

TEST(Allocator, ABlockOfAnotherRankBelongsToTheRankThatFreesIt) {
  Memory memory;
  Allocator first(heap, heap + 8 * page, page, memory);
  Allocator second(heap, heap + 8 * page, page, memory);
  first.end_replay(0, 2);
  second.end_replay(1, 2);
  const auto block = first.allocate(2 * page);
  ASSERT_TRUE(block);
  const std::uint64_t before = second.free_bytes();
  EXPECT_EQ(second.free(*block), Allocator::Freed::freed);
  EXPECT_EQ(second.free_bytes(), before + 2 * page + header_bytes);
  EXPECT_EQ(first.free(*block), Allocator::Freed::free_already);
}

TEST(Allocator, ExhaustionIsToldAndAFreeMakesRoomAgain) {
  Memory memory;
  Allocator blocks(heap, heap + 4 * page, page, memory);
  EXPECT_FALSE(blocks.allocate(4 * page)) << "the header has no room";
  EXPECT_FALSE(blocks.allocate(~std::uint64_t{0}));
  const auto block = blocks.allocate(3 * page);
  ASSERT_TRUE(block);
  EXPECT_FALSE(blocks.allocate(page));
  EXPECT_EQ(blocks.free(*block), Allocator::Freed::freed);
  EXPECT_EQ(blocks.free_bytes(), 4 * page);
  EXPECT_EQ(blocks.allocate(3 * page), block);
}

TEST(Allocator, AddressesThatBeginNoBlockAreForeign) {
  Memory memory;
  Allocator blocks(heap, heap + 64 * page, page, memory);
  const auto block = blocks.allocate(100);
  ASSERT_TRUE(block);
  for (const HeapAddress wrong :
       {HeapAddress{0}, heap, heap + 64 * page, *block + 16, *block + 1, *block - 8}) {
    EXPECT_EQ(blocks.free(wrong), Allocator::Freed::foreign) << std::hex << wrong;
  }
  EXPECT_EQ(blocks.free(*block), Allocator::Freed::freed);
  EXPECT_EQ(blocks.free(*block), Allocator::Freed::free_already);
}

TEST(Allocator, AHeaderThatWasOverwrittenIsNotTakenForABlock) {
  Memory memory;
  Allocator blocks(heap, heap + 64 * page, page, memory);
  const auto block = blocks.allocate(100);
  ASSERT_TRUE(block);
  BlockHeader header = memory.load(*block - header_bytes);
  header.bytes += 16;
  memory.store(*block - header_bytes, header);
  EXPECT_EQ(blocks.free(*block), Allocator::Freed::foreign);
}

// Four ranks allocate and free each other's blocks. No two blocks overlap, and nothing is lost.
TEST(Allocator, RandomCallsOfFourRanksKeepBlocksApart) {
  constexpr HeapAddress end = heap + 4096 * page;
  auto random = testing::seeded_random();
  Memory memory;
  std::vector<std::unique_ptr<Allocator>> ranks;
  for (Rank rank = 0; rank < 4; rank++) {
    ranks.push_back(std::make_unique<Allocator>(heap, end, page, memory));
    ranks.back()->end_replay(rank, 4);
  }
  std::map<HeapAddress, std::uint64_t> blocks;
  std::uint64_t used = 0;
  const auto free_one = [&](HeapAddress block) {
    ASSERT_EQ(ranks[random() % 4]->free(block), Allocator::Freed::freed);
    used -=
        (blocks[block] + block_alignment - 1) / block_alignment * block_alignment + header_bytes;
    blocks.erase(block);
  };
  for (int round = 0; round < 20'000; round++) {
    if (blocks.size() > 200 || (!blocks.empty() && random() % 3 == 0)) {
      auto chosen = blocks.lower_bound(heap + random() % (end - heap));
      if (chosen == blocks.end()) chosen = blocks.begin();
      free_one(chosen->first);
      continue;
    }
    const std::uint64_t bytes = 1 + (random() % 8 == 0 ? random() % (16 * page) : random() % 300);
    const auto block = ranks[random() % 4]->allocate(bytes);
    if (!block) continue;
    const auto after = blocks.lower_bound(*block);
    ASSERT_TRUE(after == blocks.end() || *block + bytes + header_bytes <= after->first);
    ASSERT_TRUE(after == blocks.begin() ||
                std::prev(after)->first + std::prev(after)->second <= *block - header_bytes);
    ASSERT_EQ(*block % (bytes >= page ? page : block_alignment), 0u);
    blocks[*block] = bytes;
    used += (bytes + block_alignment - 1) / block_alignment * block_alignment + header_bytes;
    std::uint64_t free = 0;
    for (const auto& each : ranks) free += each->free_bytes();
    ASSERT_EQ(free + used, end - heap);
  }
  while (!blocks.empty()) free_one(blocks.begin()->first);
}

}  // namespace
}  // namespace iw::dsm
