#include "memory/start_bits.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace iw::memory {
namespace {

std::size_t model_previous(const std::set<std::size_t>& model, std::size_t at) {
  auto after = model.upper_bound(at);
  return after == model.begin() ? StartBits::none : *std::prev(after);
}
std::size_t model_next(const std::set<std::size_t>& model, std::size_t at) {
  auto found = model.lower_bound(at);
  return found == model.end() ? StartBits::none : *found;
}

class StartBitsOf : public testing::TestWithParam<std::size_t> {};

TEST_P(StartBitsOf, FindNeighboursAsASetDoes) {
  const std::size_t count = GetParam();
  StartBits bits(count);
  std::set<std::size_t> model;
  std::mt19937_64 random(count);
  for (int i = 0; i < 4000; ++i) {
    const std::size_t place = random() % count;
    if (random() % 3 != 0 && i < 3000) {
      bits.set(place);
      model.insert(place);
    } else {
      bits.clear(place);
      model.erase(place);
    }
    const std::size_t asked = random() % count;
    ASSERT_EQ(bits.previous(asked), model_previous(model, asked));
    ASSERT_EQ(bits.next(asked), model_next(model, asked));
    ASSERT_EQ(bits.previous(count - 1), model_previous(model, count - 1));
    ASSERT_EQ(bits.next(0), model_next(model, 0));
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, StartBitsOf,
                         testing::Values(1, 2, 63, 64, 65, 4096, 4097, 262144, 300000));

TEST(StartBits, HaveNothingBeyondTheirEnd) {
  StartBits bits(64);
  bits.set(63);
  EXPECT_EQ(bits.next(64), StartBits::none);
  EXPECT_EQ(bits.next(1000), StartBits::none);
  EXPECT_EQ(bits.previous(1000), 63U);
}

}  // namespace
}  // namespace iw::memory
