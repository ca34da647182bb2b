#include "dsm/protocol/page_diff.h"

#include <gtest/gtest.h>

#include "testing/seed.h"

namespace iw::dsm {
namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::mt19937& random, std::size_t size) {
  Bytes bytes(size);
  for (std::byte& each : bytes) each = static_cast<std::byte>(random() % 4);
  return bytes;
}

TEST(PageDiff, HasNoRunsOfEqualPages) {
  const Bytes page(4096, std::byte{7});
  EXPECT_TRUE(runs_between(page, page).empty());
}

TEST(PageDiff, OfAWholePageIsOneRun) {
  const Bytes twin(65536), page(65536, std::byte{7});
  const Bytes runs = runs_between(twin, page);
  EXPECT_EQ(runs.size(), 4 + page.size());
  Bytes there = twin;
  EXPECT_TRUE(apply_runs(runs, there));
  EXPECT_EQ(there, page);
}

// Runs begin and end anywhere, and go over many words.
TEST(PageDiff, IsThatOfAComparisonByteByByte) {
  std::mt19937 random = testing::seeded_random();
  for (int round = 0; round < 300; round++) {
    Bytes twin(round % 3 == 0 ? random() % 300 : std::size_t{4096} << random() % 5);
    Bytes page = twin;
    const unsigned longest = 1 << random() % 11;
    for (std::size_t at = random() % longest; at < page.size(); at += 1 + random() % longest) {
      for (std::size_t run = random() % longest; run > 0 && at < page.size(); run--, at++) {
        page[at] = std::byte{1};
      }
    }
    Bytes expected;
    for (std::size_t at = 0; at < page.size(); at++) {
      if (page[at] == twin[at]) continue;
      std::size_t end = at;
      while (end < page.size() && page[end] != twin[end]) end++;
      const auto less_1 = static_cast<std::uint16_t>(end - at - 1);
      for (const std::size_t each :
           {at % 256, at / 256, less_1 % std::size_t{256}, less_1 / std::size_t{256}}) {
        expected.push_back(static_cast<std::byte>(each));
      }
      expected.insert(expected.end(), end - at, std::byte{1});
      at = end;
    }
    ASSERT_EQ(runs_between(twin, page), expected);
    ASSERT_TRUE(apply_runs(expected, twin));
    ASSERT_EQ(twin, page);
  }
}

// Each writer's diff changes what that writer changed, so their order does not matter.
TEST(PageDiff, OfTwoWritersMergeByteByByte) {
  std::mt19937 random = testing::seeded_random();
  for (int round = 0; round < 500; round++) {
    const Bytes twin = random_bytes(random, 8 * (1 + random() % 64));
    Bytes one = twin, other = twin, both = twin;
    for (std::size_t i = 0; i < twin.size(); i++) {
      if (random() % 3 != 0) continue;
      (i % 2 == 0 ? one : other)[i] = both[i] = static_cast<std::byte>(random());
    }
    Bytes home = twin, reverse = twin;
    const Bytes first = runs_between(twin, one), second = runs_between(twin, other);
    EXPECT_TRUE(apply_runs(first, home) && apply_runs(second, home));
    EXPECT_TRUE(apply_runs(second, reverse) && apply_runs(first, reverse));
    EXPECT_EQ(home, both);
    EXPECT_EQ(reverse, both);
  }
}

TEST(PageDiff, RefusesRunsThatAreNotWholeAndInThePage) {
  const Bytes twin(64), page(64, std::byte{7});
  const Bytes whole = runs_between(twin, page);
  for (std::size_t size = 1; size < whole.size(); size++) {
    Bytes there = twin;
    EXPECT_FALSE(apply_runs(std::span(whole).first(size), there)) << size;
    EXPECT_EQ(there, twin);
  }
  Bytes smaller(56);
  EXPECT_FALSE(apply_runs(whole, smaller));
  Bytes twice = whole;
  twice.insert(twice.end(), whole.begin(), whole.end());
  Bytes there = twin;
  EXPECT_FALSE(apply_runs(twice, there)) << "a run that is not behind the one before";
  EXPECT_EQ(there, twin);
}

}  // namespace
}  // namespace iw::dsm
