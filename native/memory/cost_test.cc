// What a heap costs beside the data: records and indexes, and memory that nobody touched.
#include <algorithm>
#include <ctime>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "memory/heap_fixture.h"

namespace iw::memory {
namespace {

double overhead_per_block(const Heap& heap, const char* when) {
  const Usage usage = heap.usage();
  const double per_block =
      static_cast<double>(usage.overhead_bytes) / static_cast<double>(usage.blocks);
  std::printf("[     cost ] %s: %.1f bytes a block (%llu blocks, %llu bytes of data)\n", when,
              per_block, static_cast<unsigned long long>(usage.blocks),
              static_cast<unsigned long long>(usage.native_bytes));
  return per_block;
}

TEST(Cost, OfABlockIsAtMost64Bytes) {
  // Just beyond a doubling of the tables, where they are emptiest, and before one.
  for (const std::size_t blocks : {49'153U, 65'536U, 98'304U}) {
    auto heap = new_heap();
    Block block;
    for (std::uint64_t serial = 1; serial <= blocks; ++serial) {
      IW_OK(heap->insert(serial, int_type(), 8, "", false, block));
    }
    EXPECT_LE(overhead_per_block(*heap, "in order"), 64);
  }
}

// Tables, not lists: a search would take thousands of times as long.
TEST(Cost, OfALookUpByNumberOrNameGrowsLittle) {
  std::mt19937_64 random(1);
  double few_ns[2] = {};
  for (const std::size_t count : {1U, 16U, 256U, 4096U, 65'536U}) {
    auto heap = new_heap();
    Block block;
    std::vector<std::string> names;
    for (std::uint64_t serial = 1; serial <= count; ++serial) {
      names.push_back("name" + std::to_string(serial));
      IW_OK(heap->insert(serial, int_type(), 1, names.back(), false, block));
    }
    std::vector<std::size_t> asked;
    for (int i = 0; i < 1 << 15; ++i) asked.push_back(random() % count);
    double best_ns[2] = {1e9, 1e9};
    for (int round = 0; round < 10; ++round) {
      const std::clock_t start = std::clock();  // of this process: others do not count
      for (const std::size_t one : asked) {
        if (round % 2 == 0) {
          ASSERT_TRUE(heap->find(one + 1, block));
        } else {
          ASSERT_TRUE(heap->find(names[one], block));
        }
      }
      const double took_ns = 1e9 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
      double& best = best_ns[round % 2];
      best = std::min(best, took_ns / static_cast<double>(asked.size()));
    }
    std::printf("[  lookups ] %6zu blocks: %5.1f ns by number, %5.1f ns by name\n", count,
                best_ns[0], best_ns[1]);
    for (int by = 0; by < 2; ++by) {
      if (count == 16) few_ns[by] = best_ns[by];
      if (count == 65'536) {
        EXPECT_LT(best_ns[by], 50 * few_ns[by]);
      }
    }
  }
}

TEST(Cost, StaysBoundedWhenBlocksComeAndGo) {
  auto heap = new_heap();
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> live;
  std::uint64_t next = 1;
  Block block;
  for (int i = 0; i < 200'000; ++i) {
    if (live.size() < 20'000) {
      IW_OK(heap->insert(next, int_type(), 1 + random() % 16, "", false, block));
      live.push_back(next++);
    } else {
      std::swap(live[random() % live.size()], live.back());
      IW_OK(heap->erase(live.back()));
      live.pop_back();
    }
  }
  IW_OK(heap->apply_done());
  // A free extent between two blocks has a record, too.
  EXPECT_LE(overhead_per_block(*heap, "at random"), 110);
}

TEST(Cost, OfTheMapsIsLessThanAPercentOfLargeBlocks) {
  auto heap = new_heap();
  Block block;
  for (std::uint64_t serial = 1; serial <= 10'000; ++serial) {
    IW_OK(heap->insert(serial, char_type(), 4096, "", false, block));
  }
  const Usage usage = heap->usage();
  EXPECT_LE(usage.overhead_bytes, usage.blocks * 64 + usage.native_bytes * 2 / 100);
  EXPECT_LE(usage.capacity_bytes, usage.native_bytes * 2 + (1 << 17));
}

#if defined(__linux__)
std::size_t resident_bytes() {
  std::ifstream status("/proc/self/smaps_rollup");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("Pss:", 0) == 0) return std::stoul(line.substr(4)) * 1024;
  }
  return 0;
}

// User-mode emulators keep a table of the pages of each mapping.
bool mappings_take_memory() {
  platform::Mapping mapping;
  platform::FileDescriptor fd;
  const std::size_t size = std::size_t{1} << 30;
  const std::size_t before = resident_bytes();
  platform::MapRequest request;
  if (!platform::create_shared_memory(size, fd)) return true;
  request.fd = fd.get();
  request.size_bytes = size;
  return !platform::map_file(request, mapping) || resident_bytes() > before + (1 << 20);
}

// The tracker measures its prices once in a process, at the first section.
void take_what_a_first_section_takes() {
  auto heap = new_heap();
  Block block;
  IW_OK(begin_write(*heap));
  IW_OK(heap->allocate(char_type(), 1, "", false, block));
  block.address[0] = std::byte{1};
  IW_OK(release(*heap));
}

TEST(Cost, AGibibyteTakesNoMemoryUntilItIsTouched) {
  if (sizeof(void*) < 8) GTEST_SKIP() << "no room for it";
  if (mappings_take_memory()) GTEST_SKIP() << "mappings take memory on this system";
  take_what_a_first_section_takes();
  const std::size_t before = resident_bytes();
  if (before == 0) GTEST_SKIP() << "the system does not say";
  auto heap = new_heap();
  Block block;
  IW_OK(begin_write(*heap));
  IW_OK(heap->allocate(char_type(), std::size_t{1} << 30, "", false, block));
  Block reserved;
  IW_OK(heap->reserve(1U << 20, char_type(), std::size_t{1} << 30, "", reserved));
  // Each gibibyte has some 15 sets of pages of 32 KiB, a bit a page.
  EXPECT_LT(resident_bytes(), before + (2 << 20));
  if (!track::recommended().finds_pages()) return;  // looking at all of it takes memory
  block.address[std::size_t{1} << 29] = std::byte{1};
  IW_OK(release(*heap));
  EXPECT_LT(resident_bytes(), before + (4 << 20));
}
#endif

}  // namespace
}  // namespace iw::memory
