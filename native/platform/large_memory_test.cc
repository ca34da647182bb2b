#include "platform/large_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

namespace iw::platform {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

std::byte value_at(std::size_t i) { return static_cast<std::byte>(i * 7 + i / 4096); }

// Some bytes of each page, because an emulated machine takes long for all of them.
constexpr std::size_t step = 509;
std::size_t first_from(std::size_t i) { return (i + step - 1) / step * step; }

void store_values(const LargeMemory& memory, std::size_t begin, std::size_t end) {
  for (std::size_t i = first_from(begin); i < end; i += step) memory.begin()[i] = value_at(i);
}

bool holds_values(const LargeMemory& memory, std::size_t begin, std::size_t end) {
  for (std::size_t i = first_from(begin); i < end; i += step) {
    if (memory.begin()[i] != value_at(i)) return false;
  }
  return true;
}

TEST(LargeMemory, KeepsItsBytesWhenItGrowsAndMoves) {
  LargeMemory memory;
  std::size_t filled = 0;
  for (const std::size_t size : {std::size_t{1}, 3 * mib - 5, 3 * mib, 17 * mib}) {
    ASSERT_TRUE(memory.grow(size));
    ASSERT_GE(memory.size_bytes(), size);
    store_values(memory, filled, size);
    filled = size;
  }
  LargeMemory moved(std::move(memory));
  LargeMemory other;
  ASSERT_TRUE(other.grow(mib));
  other = std::move(moved);
  EXPECT_TRUE(holds_values(other, 0, filled));
}

TEST(LargeMemory, WithoutMemoryNothingChanges) {
  LargeMemory memory;
  ASSERT_TRUE(memory.grow(mib));
  memory.begin()[mib - 1] = std::byte{9};
  const std::size_t size_bytes = memory.size_bytes();
  EXPECT_FALSE(memory.grow(std::numeric_limits<std::size_t>::max() - 16 * mib));
  EXPECT_EQ(memory.size_bytes(), size_bytes);
  EXPECT_EQ(memory.begin()[mib - 1], std::byte{9});
}

#if defined(__linux__)
// Before Linux 6.17 the system moves only one mapping at a time.
TEST(LargeMemory, IsOneMappingHoweverOftenItGrew) {
  LargeMemory memory;
  for (const std::size_t size : {2 * mib, 8 * mib, 32 * mib}) {
    ASSERT_TRUE(memory.grow(size));
    std::memset(memory.begin(), 1, size);
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.begin());
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto at = std::stoull(line, nullptr, 16);
    EXPECT_FALSE(at > begin && at < begin + memory.size_bytes()) << line;
  }
}
#endif

// The bytes around what is given back stay, and the memory can be filled again.
TEST(LargeMemory, GivesBackNoByteBesideTheRange) {
  constexpr std::size_t size = 8 * mib;
  for (const std::size_t begin : {std::size_t{0}, std::size_t{1}, 3 * mib}) {
    for (const std::size_t end : {begin, begin + 1, 4 * mib + 1, 7 * mib - 1, size}) {
      LargeMemory memory;
      ASSERT_TRUE(memory.grow(size));
      store_values(memory, 0, size);
      memory.give_back(begin, end);
      ASSERT_TRUE(holds_values(memory, 0, begin)) << begin << " to " << end;
      ASSERT_TRUE(holds_values(memory, end, size)) << begin << " to " << end;
      store_values(memory, begin, end);
      EXPECT_TRUE(holds_values(memory, 0, size));
    }
  }
}

}  // namespace
}  // namespace iw::platform
