#include "memory/address_space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace iw::memory {
namespace {

constexpr std::size_t wanted = std::size_t{256} << 20;

TEST(AddressSpace, IsAtTheSamePlaceForTheSameUrl) {
  if (sizeof(void*) < 8) GTEST_SKIP() << "32-bit machines place it anywhere";
  std::byte* first = nullptr;
  {
    const AddressSpace space("iw://host:7747/a", wanted);
    first = space.reservation().begin();
    ASSERT_NE(first, nullptr);
    const AddressSpace other("iw://host:7747/b", wanted);
    EXPECT_NE(other.reservation().begin(), first);
  }
  const AddressSpace again("iw://host:7747/a", wanted);
  EXPECT_EQ(again.reservation().begin(), first);
}

TEST(AddressSpace, IsElsewhereWhenThePlaceIsTaken) {
  const AddressSpace space("iw://host:7747/a", wanted);
  const AddressSpace again("iw://host:7747/a", wanted);
  ASSERT_TRUE(again.reservation());
  EXPECT_NE(again.reservation().begin(), space.reservation().begin());
}

TEST(AddressSpace, GivesGranulesOutOnceAndTakesThemBack) {
  AddressSpace space("iw://host:7747/a", std::size_t{64} << 20);
  ASSERT_TRUE(space.reservation());
  std::byte* a = space.take(kGranuleBytes);
  std::byte* b = space.take(3 * kGranuleBytes);
  std::byte* c = space.take(kGranuleBytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a) % kGranuleBytes, 0U);
  EXPECT_EQ(b, a + kGranuleBytes);
  EXPECT_EQ(c, b + 3 * kGranuleBytes);
  space.give_back(a, kGranuleBytes);
  space.give_back(b, 3 * kGranuleBytes);
  EXPECT_EQ(space.take(4 * kGranuleBytes), a);
  EXPECT_EQ(space.take(kGranuleBytes), c + kGranuleBytes);
  EXPECT_EQ(space.take(std::size_t{64} << 20), nullptr);
}

TEST(AddressSpace, MayBeEmpty) {
  AddressSpace space("iw://host:7747/a", 0);
  EXPECT_FALSE(space.reservation());
  EXPECT_EQ(space.take(kGranuleBytes), nullptr);
}

// Like a process with very many segments: each takes less, and together they leave half.
TEST(AddressSpace, TakesLessTheMoreThereAre) {
  if (sizeof(void*) < 8) GTEST_SKIP() << "32-bit machines reserve nothing ahead";
  if (std::getenv("IW_RESERVATION_MIB") != nullptr) GTEST_SKIP() << "address space is dear here";
  constexpr std::size_t first_bytes = std::size_t{64} << 30;
  constexpr int many = 20'000;
  if (platform::mapping_limits().mappings < many) GTEST_SKIP() << "too few mappings are allowed";
  std::vector<std::unique_ptr<AddressSpace>> spaces;
  std::uint64_t taken_bytes = 0;
  std::size_t least_bytes = first_bytes;
  for (int i = 0; i < many; ++i) {
    spaces.push_back(
        std::make_unique<AddressSpace>("iw://host:7747/" + std::to_string(i), first_bytes));
    AddressSpace& space = *spaces.back();
    if (space.is_one_of_many()) {
      // It reserves when it needs more than a granule.
      EXPECT_FALSE(space.reservation()) << i;
      EXPECT_EQ(space.take(kGranuleBytes), nullptr) << i;
      ASSERT_NE(space.take(2 * kGranuleBytes), nullptr) << i;
    }
    ASSERT_TRUE(space.reservation()) << i;
    taken_bytes += space.reservation().size_bytes();
    least_bytes = std::min(least_bytes, space.reservation().size_bytes());
  }
  EXPECT_EQ(spaces.back()->is_one_of_many(), platform::can_drop_private_pages);
  EXPECT_LT(taken_bytes, platform::address_space_bytes() / 2);
  EXPECT_LT(least_bytes, spaces.front()->reservation().size_bytes());
  spaces.clear();
  const AddressSpace again("iw://host:7747/0", first_bytes);
  const std::uint64_t share = platform::address_space_bytes() / 16;
  EXPECT_EQ(again.reservation().size_bytes(), std::min<std::uint64_t>(first_bytes, share));
}

}  // namespace
}  // namespace iw::memory
