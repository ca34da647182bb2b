// Blocks: made, found, iterated over, reserved; and what a heap refuses.
#include "memory/heap.h"

#include <cstring>
#include <set>
#include <vector>

#include "memory/heap_fixture.h"

namespace iw::memory {
namespace {

using HeapTest = EachHeap;

TEST_P(HeapTest, FindsABlockBySerialNameAndAddress) {
  IW_OK(begin_write(heap()));
  Block head;
  Block rest;
  IW_OK(heap().allocate(int_type(), 10, "head", false, head));
  IW_OK(heap().allocate(double_type(), 3, "", true, rest));
  EXPECT_EQ(head.serial, 1U);
  EXPECT_EQ(head.size_bytes, 40U);
  EXPECT_TRUE(head.is_new);
  EXPECT_TRUE(head.has_name);
  EXPECT_TRUE(rest.is_owned);
  Block found;
  ASSERT_TRUE(heap().find(1, found));
  EXPECT_EQ(found.address, head.address);
  ASSERT_TRUE(heap().find("head", found));
  EXPECT_EQ(found.serial, 1U);
  EXPECT_EQ(heap().name_of(1), "head");
  EXPECT_EQ(heap().name_of(2), "");
  for (std::size_t i = 0; i <= head.size_bytes; ++i) {
    ASSERT_TRUE(heap().find_at(head.address + i, found)) << i;
    EXPECT_EQ(found.serial, 1U);
  }
  EXPECT_FALSE(heap().find_at(head.address - 1, found));
  EXPECT_FALSE(heap().find_at(head.end() + 1, found));
  EXPECT_FALSE(heap().find(3, found));
  EXPECT_FALSE(heap().find("tail", found));
  EXPECT_FALSE(heap().find("", found));
}

TEST_P(HeapTest, BlocksAreZeroAlignedAndNeverTouch) {
  IW_OK(begin_write(heap()));
  std::byte* behind = nullptr;
  for (const std::uint64_t count : {1U, 15U, 16U, 17U, 4096U, 70000U}) {
    Block block;
    IW_OK(heap().allocate(char_type(), count, "", false, block));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.address) % 16, 0U);
    EXPECT_NE(block.address, behind);
    EXPECT_TRUE(is_all_zero(block));
    behind = block.end();
  }
}

TEST_P(HeapTest, LaysBlocksOutInTheOrderOfTheirCreation) {
  IW_OK(begin_write(heap()));
  Block before;
  IW_OK(heap().allocate(int_type(), 3, "", false, before));
  for (int i = 0; i < 100; ++i) {
    Block block;
    IW_OK(heap().allocate(int_type(), 1 + i % 7, "", false, block));
    EXPECT_EQ(block.address, before.address + (before.size_bytes + 16) / 16 * 16);
    before = block;
  }
}

TEST_P(HeapTest, IteratesInTheOrderOfSerialsAndOfAddresses) {
  std::set<std::uint64_t> serials;
  for (const std::uint64_t serial : {7U, 3U, 90U, 12U, 1U}) {
    Block block;
    IW_OK(heap().insert(serial, int_type(), 100000, "", false, block));
    serials.insert(serial);
  }
  IW_OK(heap().erase(12));
  serials.erase(12);
  std::vector<std::uint64_t> by_serial;
  Block block;
  block.serial = 0;
  while (heap().next_by_serial(block.serial, block)) by_serial.push_back(block.serial);
  EXPECT_EQ(by_serial, std::vector<std::uint64_t>(serials.begin(), serials.end()));
  std::set<std::uint64_t> by_address;
  const std::byte* last = nullptr;
  while (heap().next_by_address(last, block)) {
    EXPECT_GT(block.address, last);
    last = block.address;
    by_address.insert(block.serial);
  }
  EXPECT_EQ(by_address, serials);
  ASSERT_TRUE(heap().next_by_serial(4, block));
  EXPECT_EQ(block.serial, 7U);
}

TEST_P(HeapTest, ALargeBlockGivesItsMemoryBackWhenItGoes) {
  const std::uint64_t before = heap().usage().capacity_bytes;
  Block block;
  IW_OK(heap().insert(1, char_type(), 10'000'000, "", false, block));
  const std::byte* address = block.address;
  EXPECT_GE(heap().usage().capacity_bytes, before + 10'000'000);
  EXPECT_TRUE(is_all_zero(block));
  IW_OK(heap().erase(1));
  EXPECT_EQ(heap().usage().capacity_bytes, before);
  EXPECT_EQ(heap().usage().native_bytes, 0U);
  FoundBlock found;
  EXPECT_FALSE(find_block(address, found));
  IW_OK(heap().insert(2, char_type(), 10'000'000, "", false, block));
  if (HeapOptions{}.reservation_bytes != 0) {  // elsewhere the system chooses
    EXPECT_EQ(block.address, address) << "the address space was lost";
  }
}

TEST_P(HeapTest, RefusesWhatIsNoBlock) {
  IW_OK(begin_write(heap(), {5, 2}));
  Block block;
  IW_OK(heap().allocate(int_type(), 1, "a", false, block));
  EXPECT_EQ(block.serial, 5U);
  EXPECT_EQ(heap().allocate(int_type(), 0, "", false, block).code, error_code::BAD_ARGUMENT);
  EXPECT_EQ(heap().allocate(int_type(), 1, "a", false, block).code, error_code::BAD_NAME);
  EXPECT_EQ(heap().allocate(int_type(), 1, "1a", false, block).code, error_code::BAD_NAME);
  EXPECT_EQ(heap().allocate(int_type(), 1, "a#b", false, block).code, error_code::BAD_NAME);
  for (const std::uint64_t count : {std::uint64_t{1} << 47, ~std::uint64_t{0}}) {
    EXPECT_EQ(heap().allocate(double_type(), count, "", false, block).code, error_code::NO_MEMORY);
  }
  IW_OK(heap().allocate(int_type(), 1, "", false, block));
  EXPECT_EQ(block.serial, 6U) << "a refused allocation took a serial";
  EXPECT_EQ(heap().allocate(int_type(), 1, "", false, block).code, error_code::TOO_LARGE);
  EXPECT_EQ(heap().free(7).code, error_code::NO_BLOCK);
  IW_OK(release(heap()));
  EXPECT_EQ(heap().allocate(int_type(), 1, "", false, block).code, error_code::NO_LOCK);
  EXPECT_EQ(heap().free(5).code, error_code::NO_LOCK);
  EXPECT_EQ(heap().insert(0, int_type(), 1, "", false, block).code, error_code::BAD_ARGUMENT);
  EXPECT_EQ(heap().insert(5, int_type(), 1, "", false, block).code, error_code::MALFORMED);
  EXPECT_EQ(heap().insert(kMaxSerial + 1, int_type(), 1, "", false, block).code,
            error_code::BAD_ARGUMENT);
  EXPECT_EQ(heap().erase(99).code, error_code::MALFORMED);
  EXPECT_EQ(begin_write(heap(), {kMaxSerial, 2}).code, error_code::MALFORMED);
}

TEST_P(HeapTest, KeepsToItsLimit) {
  HeapOptions options;
  options.url = url_of("127.0.0.1/small");
  options.tracker = &tracker();
  options.limit_bytes = 1000;
  std::unique_ptr<Heap> small;
  IW_OK(Heap::create(options, small));
  Block block;
  IW_OK(small->insert(1, char_type(), 600, "", false, block));
  EXPECT_EQ(small->insert(2, char_type(), 401, "", false, block).code, error_code::NO_MEMORY);
  IW_OK(small->insert(2, char_type(), 400, "", false, block));
  IW_OK(small->erase(1));
  IW_OK(small->insert(3, char_type(), 600, "", false, block));
}

TEST_P(HeapTest, OutgrowsItsReservation) {
  HeapOptions options;
  options.url = url_of("127.0.0.1/outgrown");
  options.tracker = &tracker();
  options.reservation_bytes = std::size_t{64} << 20;
  std::unique_ptr<Heap> heap;
  IW_OK(Heap::create(options, heap));
  std::vector<std::byte*> ends;
  for (std::uint64_t serial = 1; serial <= 5; ++serial) {
    Block block;
    IW_OK(heap->insert(serial, char_type(), 24'000'000, "", false, block));
    const int value = static_cast<int>(serial);
    IW_OK(write_incoming(*heap, block, block.size_bytes - sizeof value, &value, sizeof value));
    ends.push_back(block.address + block.size_bytes - sizeof value);
  }
  for (std::size_t i = 0; i < ends.size(); ++i) {
    FoundBlock found;
    ASSERT_TRUE(find_block(ends[i], found)) << i;
    EXPECT_EQ(found.block.serial, i + 1);
    int value = 0;
    std::memcpy(&value, ends[i], sizeof value);
    EXPECT_EQ(value, static_cast<int>(i + 1));
  }
}

TEST_P(HeapTest, WorksWithoutAReservation) {
  HeapOptions options;
  options.url = url_of("127.0.0.1/anywhere");
  options.tracker = &tracker();
  options.reservation_bytes = 0;
  std::unique_ptr<Heap> heap;
  IW_OK(Heap::create(options, heap));
  for (std::uint64_t serial = 1; serial <= 40; ++serial) {
    Block block;
    IW_OK(heap->insert(serial, char_type(), serial * 20000, "", false, block));
    const int value = static_cast<int>(serial);
    IW_OK(write_incoming(*heap, block, 0, &value, sizeof value));
    FoundBlock found;
    ASSERT_TRUE(find_block(block.address + 5, found));
    EXPECT_EQ(found.block.serial, serial);
    EXPECT_EQ(found.offset_bytes, 5U);
  }
  for (std::uint64_t serial = 1; serial <= 40; ++serial) {
    Block block;
    ASSERT_TRUE(heap->find(serial, block));
    EXPECT_EQ(int_at(block), static_cast<int>(serial));
  }
}

TEST_P(HeapTest, AReadOnlyHeapTakesWhatArrivesAndNoStores) {
  auto reader = new_heap("127.0.0.1/read", &tracker(), true);
  EXPECT_EQ(begin_write(*reader).code, error_code::READ_ONLY);
  Block block;
  IW_OK(reader->insert(1, int_type(), 4, "", false, block));
  const int value = 42;
  IW_OK(write_incoming(*reader, block, 8, &value, sizeof value));
  EXPECT_EQ(int_at(block, 2), 42);
  IW_OK(reader->erase(1));
  IW_OK(reader->insert(2, int_type(), 4, "", false, block));
  EXPECT_TRUE(is_all_zero(block));
}

TEST_P(HeapTest, AReservedBlockIsFilledWithoutMoving) {
  Block reserved;
  IW_OK(heap().reserve(9, int_type(), 50, "later", reserved));
  EXPECT_TRUE(reserved.is_reserved);
  EXPECT_TRUE(is_all_zero(reserved));
  Block again;
  IW_OK(heap().reserve(9, int_type(), 50, "later", again));
  EXPECT_EQ(again.address, reserved.address);
  EXPECT_EQ(heap().reserve(9, int_type(), 51, "", again).code, error_code::MALFORMED);
  EXPECT_EQ(heap().reserve(9, double_type(), 50, "", again).code, error_code::MALFORMED);

  Block filled;
  IW_OK(heap().insert(9, int_type(), 50, "later", false, filled));
  EXPECT_EQ(filled.address, reserved.address);
  EXPECT_FALSE(filled.is_reserved);
  ASSERT_TRUE(heap().find("later", again));
  EXPECT_EQ(again.serial, 9U);
  EXPECT_EQ(heap().insert(9, int_type(), 50, "later", false, filled).code, error_code::MALFORMED);
}

TEST_P(HeapTest, AReservationOutlivesAnAbort) {
  IW_OK(begin_write(heap(), {1, 10}));
  Block reserved;
  Block created;
  IW_OK(heap().reserve(100, int_type(), 5, "", reserved));
  IW_OK(heap().allocate(int_type(), 5, "", false, created));
  IW_OK(abort(heap()));
  Block found;
  ASSERT_TRUE(heap().find(100, found));
  EXPECT_EQ(found.address, reserved.address);
  EXPECT_FALSE(heap().find(created.serial, found));
}

TEST_P(HeapTest, HeapsHaveNumbersOfTheirOwn) {
  const std::uint64_t first = new_heap("127.0.0.1/x", &tracker())->number();
  const std::uint64_t second = new_heap("127.0.0.1/x", &tracker())->number();
  EXPECT_NE(first, second);
  EXPECT_NE(first, heap().number());
}

IW_FOR_EACH_HEAP(HeapTest);

}  // namespace
}  // namespace iw::memory
