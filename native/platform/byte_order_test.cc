#include "platform/byte_order.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "platform/differing_words.h"

namespace iw::platform {
namespace {

TEST(ByteOrder, LittleEndianIsTheSameBytesEverywhere) {
  std::array<unsigned char, 9> bytes{};
  store_little_endian<std::uint32_t>(bytes.data() + 1, 0x01020304u);
  EXPECT_EQ(bytes[1], 4);
  EXPECT_EQ(bytes[4], 1);
  EXPECT_EQ(load_little_endian<std::uint32_t>(bytes.data() + 1), 0x01020304u);
  store_little_endian<std::uint64_t>(bytes.data() + 1, 0x0102030405060708u);
  EXPECT_EQ(bytes[1], 8);
  EXPECT_EQ(load_little_endian<std::uint16_t>(bytes.data() + 1), 0x0708u);
  EXPECT_EQ(load_little_endian<std::uint8_t>(bytes.data() + 8), 1u);
}

template <typename T>
void expect_swapped(void (*swap)(void*, const void*, std::size_t)) {
  for (std::size_t count = 0; count < 70; ++count) {
    // Unaligned on purpose.
    std::vector<unsigned char> from(count * sizeof(T) + 1);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 37);
    std::vector<unsigned char> to(count * sizeof(T) + 1, 0xee);
    swap(to.data() + 1, from.data() + 1, count);
    ASSERT_EQ(to[0], 0xee);
    for (std::size_t i = 0; i < count * sizeof(T); ++i) {
      const std::size_t element = i / sizeof(T) * sizeof(T);
      ASSERT_EQ(to[1 + i], from[1 + element + sizeof(T) - 1 - (i - element)]) << count << " " << i;
    }
    swap(to.data() + 1, to.data() + 1, count);  // in place, and back
    ASSERT_TRUE(std::equal(to.begin() + 1, to.end(), from.begin() + 1));
  }
}

TEST(ByteOrder, SwapsArraysOfAnyLengthAndAlignment) {
  expect_swapped<std::uint16_t>(copy_swapped_16);
  expect_swapped<std::uint32_t>(copy_swapped_32);
  expect_swapped<std::uint64_t>(copy_swapped_64);
}

TEST(ByteOrder, CopyLittleEndianAgreesWithSingleStores) {
  const std::array<std::uint32_t, 5> native{1, 0x01020304, 0xffffffff, 0, 7};
  std::array<unsigned char, 20> copied{};
  std::array<unsigned char, 20> stored{};
  copy_little_endian(copied.data(), native.data(), 4, native.size());
  for (std::size_t i = 0; i < native.size(); ++i) {
    store_little_endian(stored.data() + 4 * i, native[i]);
  }
  EXPECT_EQ(copied, stored);
}

TEST(DifferingWords, EveryVariantFindsEachWordAndOnlyThat) {
  const DifferingWordsVariant* variants = nullptr;
  const std::size_t count = differing_words_variants(variants);
  ASSERT_GE(count, 1u);
  for (std::size_t v = 0; v < count; ++v) {
    SCOPED_TRACE(variants[v].name);
    constexpr std::size_t stretches = 3;
    alignas(4) std::array<std::uint32_t, stretches * words_per_mask> a{};
    auto b = a;
    const auto* a_bytes = reinterpret_cast<const std::byte*>(a.data());
    const auto* b_bytes = reinterpret_cast<const std::byte*>(b.data());
    std::array<std::uint64_t, stretches> masks{};
    EXPECT_FALSE(variants[v].function(a_bytes, b_bytes, stretches, masks.data()));
    for (std::size_t word = 0; word < a.size(); ++word) {
      b[word] = std::uint32_t{1} << (word % 32);
      ASSERT_TRUE(variants[v].function(a_bytes, b_bytes, stretches, masks.data()));
      for (std::size_t k = 0; k < stretches; ++k) {
        const std::uint64_t expected =
            k == word / words_per_mask ? std::uint64_t{1} << (word % words_per_mask) : 0;
        ASSERT_EQ(masks[k], expected) << "word " << word;
      }
      b[word] = 0;
    }
  }
}

}  // namespace
}  // namespace iw::platform
