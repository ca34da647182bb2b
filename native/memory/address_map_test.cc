#include "memory/address_map.h"

#include <atomic>
#include <ctime>
#include <random>
#include <thread>

#include "memory/gate.h"
#include "memory/heap_fixture.h"

namespace iw::memory {
namespace {

TEST(AddressMap, FindsEveryByteOfEveryBlockAndNothingElse) {
  auto heap = new_heap();
  const auto blocks = filled(*heap, 500);
  FoundBlock found;
  for (const Block& block : blocks) {
    for (std::size_t i = 0; i <= block.size_bytes; ++i) {
      ASSERT_TRUE(find_block(block.address + i, found));
      ASSERT_EQ(found.block.serial, block.serial);
      ASSERT_EQ(found.offset_bytes, i);
      ASSERT_EQ(found.heap_number, heap->number());
    }
    ASSERT_TRUE(try_find_block(block.address, found));
  }
  int local = 0;
  EXPECT_FALSE(find_block(nullptr, found));
  EXPECT_FALSE(find_block(&local, found));
  EXPECT_FALSE(find_block(heap.get(), found));
  EXPECT_FALSE(find_block(reinterpret_cast<void*>(~std::uintptr_t{0}), found));
  EXPECT_FALSE(find_block(blocks[0].address - 1, found));
  types::Url url;
  EXPECT_TRUE(find_segment(blocks[7].address, url));
  EXPECT_EQ(url, heap->url());
  EXPECT_FALSE(find_segment(&local, url));
  const void* old = blocks[0].address;
  heap.reset();
  EXPECT_FALSE(find_block(old, found)) << "the heap is gone";
}

// Rows are longer than what is looked up together, and go from heap to heap.
TEST(AddressMap, ARowOfAddressesAndSerialsIsAnsweredAsEachAlone) {
  auto a = new_heap("127.0.0.1/a");
  auto b = new_heap("127.0.0.1/b");
  const auto in_a = filled(*a, 4000);
  const auto in_b = filled(*b, 300);
  ASSERT_TRUE(a->erase(17).ok());
  int local = 0;
  std::mt19937 random(2);
  for (const bool predicts : {true, false}) {
    Trail by_address;
    Trail by_serial;
    by_address.predicts = by_serial.predicts = predicts;
    for (int round = 0; round < 200; ++round) {
      std::vector<const void*> addresses;
      std::vector<std::uint64_t> serials;
      std::size_t at = random() % in_a.size();
      for (int i = 0; i < 100; ++i) {
        const auto& blocks = random() % 16 == 0 ? in_b : in_a;
        at = random() % 4 == 0 ? random() : at + 1;
        const Block& block = blocks[at % blocks.size()];
        addresses.push_back(block.address + random() % (block.size_bytes + 3));
        if (random() % 30 == 0) addresses.back() = random() % 2 == 0 ? nullptr : &local;
        serials.push_back(at % (in_a.size() + 2));
      }
      std::vector<FoundBlock> row(addresses.size());
      find_blocks(addresses, by_address, row.data());
      std::vector<Block> named(serials.size());
      a->find(serials, by_serial, named.data());
      for (std::size_t i = 0; i < addresses.size(); ++i) {
        FoundBlock alone;
        ASSERT_EQ(find_block(addresses[i], alone), row[i].block.serial != 0) << i;
        if (row[i].block.serial != 0) {
          ASSERT_EQ(row[i].block.address, alone.block.address);
          ASSERT_EQ(row[i].offset_bytes, alone.offset_bytes);
          ASSERT_EQ(row[i].heap_number, alone.heap_number);
        }
        Block block;
        ASSERT_EQ(a->find(serials[i], block), named[i].serial != 0) << serials[i];
        ASSERT_EQ(named[i].address, block.address);
      }
    }
    EXPECT_EQ(by_serial.followed > 10'000, predicts);
    EXPECT_EQ(by_address.followed > 5'000, predicts);
  }
}

TEST(AddressMap, TellsTheHeapsOfAProcessApart) {
  auto a = new_heap("127.0.0.1/a");
  auto b = new_heap("127.0.0.1/b");
  const auto in_a = filled(*a, 10);
  const auto in_b = filled(*b, 10);
  FoundBlock found;
  for (std::size_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(find_block(in_a[i].address, found));
    EXPECT_EQ(found.heap_number, a->number());
    ASSERT_TRUE(find_block(in_b[i].address, found));
    EXPECT_EQ(found.heap_number, b->number());
    Block block;
    EXPECT_FALSE(a->find_at(in_b[i].address, block));
  }
}

// Constant, or nearly: a search that walks a list would take thousands of times as long.
TEST(AddressMap, ALookupAmongManyBlocksCostsLittleMoreThanAmongFew) {
  std::mt19937_64 random(1);
  double few_ns = 0;
  for (const std::size_t count : {1U, 16U, 256U, 4096U, 65536U}) {
    auto heap = new_heap();
    const auto blocks = filled(*heap, count);
    std::vector<const std::byte*> asked;
    for (int i = 0; i < 1 << 16; ++i) {
      const Block& block = blocks[random() % count];
      asked.push_back(block.address + random() % (block.size_bytes + 1));
    }
    double best_ns = 1e9;
    for (int round = 0; round < 5; ++round) {
      const std::clock_t start = std::clock();  // of this process: others do not count
      std::uint64_t sum = 0;
      FoundBlock found;
      for (const std::byte* address : asked) {
        if (find_block(address, found)) sum += found.block.serial;
      }
      const double took_ns = 1e9 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
      ASSERT_GE(sum, asked.size());
      best_ns = std::min(best_ns, took_ns / static_cast<double>(asked.size()));
    }
    std::printf("[  lookups ] %6zu blocks: %5.1f ns each\n", count, best_ns);
    if (count == 16) few_ns = best_ns;
    if (count == 65536) {
      EXPECT_LT(best_ns, 50 * few_ns);
    }
  }
}

// Other threads look up while blocks come and go and the heap ends and is made again.
TEST(AddressMap, MayBeAskedWhileHeapsChange) {
  auto stable = new_heap("127.0.0.1/stable");
  const auto blocks = filled(*stable, 100);
  std::atomic<bool> is_over{false};
  std::atomic<std::byte*> changing{nullptr};
  std::atomic<std::uint64_t> lookups{0};
  std::vector<std::thread> readers;
  for (unsigned seed = 0; seed < 2; ++seed) {
    readers.emplace_back([&, seed] {
      std::mt19937_64 random(seed);
      while (!is_over.load()) {
        FoundBlock found;
        const Block& block = blocks[random() % blocks.size()];
        if (!find_block(block.address, found) || found.block.serial != block.serial) std::abort();
        std::byte* at = changing.load();
        if (at != nullptr && find_block(at + random() % 30'000, found) &&
            (found.block.serial == 0 || found.block.count == 0 ||
             found.offset_bytes > found.block.size_bytes)) {
          std::abort();
        }
        lookups.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  std::mt19937_64 random(9);
  for (int round = 0; round < 30; ++round) {
    auto heap = new_heap("127.0.0.1/changing");
    std::vector<std::uint64_t> live;
    for (std::uint64_t serial = 1; serial <= 600; ++serial) {
      Block block;
      ASSERT_TRUE(heap->insert(serial, char_type(), 1 + random() % 900, "", false, block).ok());
      if (serial == 1) changing.store(block.address);
      live.push_back(serial);
      if (serial % 3 == 0) {
        std::swap(live[random() % live.size()], live.back());
        ASSERT_TRUE(heap->erase(live.back()).ok());
        live.pop_back();
      }
      if (serial % 100 == 0) {
        ASSERT_TRUE(stable->reserve(1000 + serial, int_type(), 70'000, "", block).ok());
      }
    }
    ASSERT_TRUE(heap->apply_done().ok());
  }
  while (lookups.load() < 1000) std::this_thread::yield();
  is_over.store(true);
  for (auto& reader : readers) reader.join();
}

// What a fault handler does when the thread it interrupts (or another) is changing the index.
TEST(Gate, AHandlerNeverWaits) {
  Gate gate;
  gate.lock();
  EXPECT_FALSE(gate.try_enter());
  gate.unlock();
  EXPECT_TRUE(gate.try_enter());
  EXPECT_TRUE(gate.try_enter());
  gate.leave();
  gate.leave();
  gate.lock();
  gate.unlock();
}

}  // namespace
}  // namespace iw::memory
