#include "diff/varint.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace iw::diff {
namespace {

bool reads(std::initializer_list<int> bytes, std::uint64_t expected) {
  std::vector<std::byte> buffer;
  for (const int byte : bytes) buffer.push_back(static_cast<std::byte>(byte));
  Reader reader{std::span<const std::byte>(buffer)};
  std::uint64_t value = 0;
  return reader.varint(value) && value == expected && reader.remaining() == 0;
}

TEST(Varint, EveryNumberIsReadAsItWasWritten) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    for (const std::uint64_t near : {0U, 1U, 2U}) {
      const std::uint64_t value = (std::uint64_t{1} << bit) - 1 + near;
      std::byte bytes[kMaxVarintBytes];
      const std::size_t count = put_varint(value, bytes);
      Reader reader(std::span<const std::byte>(bytes, count));
      std::uint64_t read = ~value;
      EXPECT_TRUE(reader.varint(read));
      EXPECT_EQ(read, value);
      Reader cut(std::span<const std::byte>(bytes, count - 1));
      EXPECT_FALSE(cut.varint(read));
    }
  }
}

TEST(Varint, OnlyTheShortestFormIsRead) {
  EXPECT_TRUE(reads({0}, 0));
  EXPECT_TRUE(reads({0x80, 1}, 128));
  EXPECT_FALSE(reads({0x80, 0}, 0));
  EXPECT_FALSE(reads({0xFF, 0x80, 0}, 127));
  EXPECT_TRUE(reads({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1}, ~std::uint64_t{0}));
  EXPECT_FALSE(reads({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2}, 0));
  EXPECT_FALSE(reads({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}, 0));
}

TEST(Varint, SerialDeltasGoBothWays) {
  EXPECT_EQ(zigzag_delta(0, 7), 14U);
  EXPECT_EQ(zigzag_delta(7, 6), 1U);
  EXPECT_EQ(zigzag_delta(7, 7), 0U);
  const std::uint64_t numbers[] = {0, 1, 64, std::uint64_t{1} << 47, ~std::uint64_t{0}};
  for (const std::uint64_t from : numbers) {
    for (const std::uint64_t to : numbers) {
      EXPECT_EQ(apply_zigzag(from, zigzag_delta(from, to)), to);
    }
  }
}

}  // namespace
}  // namespace iw::diff
