#include "track/slab.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "track/tracker_fixture.h"

namespace iw::track {
namespace {

constexpr bool has_slices = platform::can_drop_private_pages;

// Of slabs that so many slices begin, one more than fit into them exactly.
constexpr std::uint64_t most_mappings_of(std::size_t slices) {
  constexpr std::uint64_t mappings_of_a_slab = 3;
  return mappings_of_a_slab * (slices * slice_bytes / slab_bytes + 1);
}

class SmallAreas : public EachTracker {
 protected:
  // A machine may have pages as large as a slice.
  static std::size_t pages() { return slice_bytes / platform::page_size(); }
  [[nodiscard]] std::unique_ptr<Area> new_small(bool read_only = false) const {
    return new_area(pages(), read_only);
  }
};

TEST_P(SmallAreas, ShareMappingsAndNothingElse) {
  if (!has_slices) GTEST_SKIP() << "each area has its own mappings";
  const std::unique_ptr<Area> first = new_small();
  const std::uint64_t before = platform::mapping_use().mappings;
  std::vector<std::unique_ptr<Area>> areas;
  for (int i = 0; i < 100; ++i) areas.push_back(new_small());
  EXPECT_LE(platform::mapping_use().mappings, before + most_mappings_of(100));
  for (std::uint32_t i = 0; i < 100; ++i) {
    Area& area = *areas[i];
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(area.view()) % slice_bytes, 0U);
    ASSERT_TRUE(area.arm().ok());
    view_word(area, i % pages()) = i + 1;
  }
  for (std::uint32_t i = 0; i < 100; ++i) {
    const Pages stored = collected(*areas[i]);
    EXPECT_TRUE(stored.count(i % pages()) == 1) << i;
    EXPECT_TRUE(!is_exact() || stored.size() == 1) << i;
    EXPECT_EQ(word_of(areas[i]->pristine(), i % pages()), 0U);
    ASSERT_TRUE(commit_pages(*areas[i], i % pages()).ok());
    EXPECT_EQ(word_of(areas[i]->pristine(), i % pages()), i + 1);
  }
}

TEST_P(SmallAreas, AreZerosWhateverWasThereBefore) {
  for (int round = 0; round < 3; ++round) {
    const std::unique_ptr<Area> area = new_small();
    const std::byte* const view = area->view();
    EXPECT_TRUE(
        std::all_of(view, view + slice_bytes, [](std::byte b) { return b == std::byte{}; }));
    ASSERT_TRUE(area->arm().ok());
    view_word(*area, 3 % pages()) = 7;
    collected(*area);
    ASSERT_TRUE(commit_pages(*area, 3 % pages()).ok());
  }
}

TEST_P(SmallAreas, ThatAreReadOnlyShowWhatIsApplied) {
  const std::unique_ptr<Area> area = new_small(true);
  const std::unique_ptr<Area> other = new_small(true);
  const std::uint32_t word = 9;
  ASSERT_TRUE(area->apply(4, &word, sizeof word).ok());
  ASSERT_TRUE(area->apply_done().ok());
  EXPECT_EQ(view_word(*area, 0, 1), 9U);
  EXPECT_EQ(view_word(*other, 0, 1), 0U);
}

INSTANTIATE_TEST_SUITE_P(Mechanism, SmallAreas, testing::ValuesIn(names_to_test()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Slab, GivesItsMappingsBackWhenItsSlicesHaveEnded) {
  if (!has_slices) GTEST_SKIP() << "there are no slabs";
  Slice keeps_the_first;
  ASSERT_TRUE(take_slice(false, keeps_the_first).ok());
  const std::uint64_t before = platform::mapping_use().mappings;
  {
    std::vector<Slice> slices(5000);
    for (Slice& slice : slices) ASSERT_TRUE(take_slice(false, slice).ok());
    EXPECT_GT(platform::mapping_use().mappings, before);
    EXPECT_LE(platform::mapping_use().mappings, before + most_mappings_of(slices.size()));
  }
  // The one that slices are taken from stays.
  EXPECT_LE(platform::mapping_use().mappings, before + most_mappings_of(0));
}

}  // namespace
}  // namespace iw::track
