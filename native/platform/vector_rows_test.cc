// Every function agrees with a loop over single values, whatever it leaves to the caller, and stays
// within its row. Rows lie at the end of exactly sized memory, so that the build with sanitizers
// sees a load beyond it.
#include "platform/vector_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "platform/byte_order.h"

namespace iw::platform {
namespace {

using Bytes = std::vector<std::byte>;
constexpr std::byte kUntouched{0xEE};
constexpr std::size_t kMostValues = 70;

Bytes random_bytes(std::size_t count, std::mt19937& random) {
  Bytes bytes(count);
  for (std::byte& one : bytes) one = static_cast<std::byte>(random());
  return bytes;
}

// A row of `count` values, and behind it bytes that must stay.
struct Target {
  Target(std::size_t count, std::size_t value_bytes)
      : row_bytes(count * value_bytes), bytes(row_bytes + 64, kUntouched) {}
  [[nodiscard]] bool is_intact() const {
    for (std::size_t i = row_bytes; i < bytes.size(); ++i) {
      if (bytes[i] != kUntouched) return false;
    }
    return true;
  }
  std::size_t row_bytes;
  Bytes bytes;
};

void expect_mapped(const ByteMap& map, std::size_t count, std::mt19937& random) {
  const Bytes from = random_bytes(count * map.from_bytes, random);
  Target to(count, map.to_bytes);
  const std::size_t done = map_rows(map, from.data(), to.bytes.data(), count);
  ASSERT_LE(done, count);
  ASSERT_TRUE(to.is_intact());
  for (std::size_t i = 0; i < done; ++i) {
    for (std::size_t k = 0; k < map.to_bytes; ++k) {
      const bool is_zero = map.take[k] == ByteMap::kZero;
      const std::byte expected = is_zero ? std::byte{0} : from[i * map.from_bytes + map.take[k]];
      ASSERT_EQ(to.bytes[i * map.to_bytes + k], expected)
          << map.from_bytes << " to " << map.to_bytes << ", value " << i << " of " << count;
    }
  }
}

TEST(VectorRows, ValuesOfAnySizeAreMappedByteByByte) {
  std::mt19937 random(1);
  for (std::size_t from = 1; from <= ByteMap::kMostBytes; ++from) {
    for (std::size_t to = 1; to <= ByteMap::kMostBytes; ++to) {
      ByteMap map{from, to, {}};
      for (std::uint8_t& take : map.take) {
        take = random() % 4 == 0 ? ByteMap::kZero : static_cast<std::uint8_t>(random() % from);
      }
      for (const std::size_t count : {0u, 1u, 2u, 7u, 16u, 33u}) expect_mapped(map, count, random);
    }
  }
}

Bytes strings_of_3(std::size_t count, std::mt19937& random) {
  Bytes strings = random_bytes(4 * count, random);
  for (std::size_t i = 0; i < count; ++i) strings[4 * i + random() % 4] = std::byte{0};
  return strings;
}

TEST(VectorRows, StringsOfThreeArePackedUpToTheirNul) {
  std::mt19937 random(2);
  for (std::size_t count = 0; count <= kMostValues; ++count) {
    const Bytes from = strings_of_3(count, random);
    Target to(count, 3);
    const std::size_t done = pack_strings_of_3(from.data(), to.bytes.data(), count);
    ASSERT_LE(done, count);
    ASSERT_TRUE(to.is_intact());
    for (std::size_t i = 0; i < done; ++i) {
      bool is_over = false;
      for (std::size_t k = 0; k < 3; ++k) {
        is_over = is_over || from[4 * i + k] == std::byte{0};
        ASSERT_EQ(to.bytes[3 * i + k], is_over ? std::byte{0} : from[4 * i + k]);
      }
    }
    ASSERT_LE(check_strings_of_3(to.bytes.data(), done), done);
  }
}

TEST(VectorRows, AStringOfThreeThatIsNoneIsLeftToTheCaller) {
  for (std::size_t bad = 0; bad < kMostValues; ++bad) {
    Bytes memory(4 * kMostValues);
    memory[4 * bad] = memory[4 * bad + 1] = memory[4 * bad + 2] = memory[4 * bad + 3] =
        std::byte{'x'};
    Bytes sent(3 * kMostValues);
    EXPECT_LE(pack_strings_of_3(memory.data(), sent.data(), kMostValues), bad);
    std::fill(sent.begin(), sent.end(), std::byte{'x'});
    sent[3 * bad + 1] = std::byte{0};
    EXPECT_LE(check_strings_of_3(sent.data(), kMostValues), bad);
  }
}

struct Pointers {
  Pointers(const Places& places, std::size_t count, std::mt19937& random)
      : addresses(8 * count), words(16 * count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t index = random() % places.count;
      store_little_endian(&addresses[8 * i], places.begin + (index << places.shift));
      store_little_endian(&words[16 * i], places.tag);
      store_little_endian(&words[16 * i + 8], places.first + index * places.step);
    }
  }
  Bytes addresses, words;
};

TEST(VectorRows, AddressesBecomeTaggedWordsAndWordsAddresses) {
  std::mt19937 random(3);
  for (const std::uint64_t step : {std::uint64_t{1}, std::uint64_t{3}, Places::kMost}) {
    for (const std::uint64_t places_count : {std::uint64_t{1}, std::uint64_t{77}, Places::kMost}) {
      for (std::size_t count = 0; count <= kMostValues; ++count) {
        const Places places{0x7FFF12345000, places_count, 3, 0xFEDC00000002, 5, step};
        const Pointers all(places, count, random);
        Target words(count, 16);
        std::size_t done =
            addresses_to_words(places, all.addresses.data(), words.bytes.data(), count);
        ASSERT_TRUE(words.is_intact());
        ASSERT_LE(done, count);
        ASSERT_TRUE(std::equal(&words.bytes[0], &words.bytes[16 * done], all.words.data()));
        if (step != 1) continue;
        Target addresses(count, 8);
        done = words_to_addresses(places, all.words.data(), addresses.bytes.data(), count);
        ASSERT_TRUE(addresses.is_intact());
        ASSERT_LE(done, count);
        ASSERT_TRUE(
            std::equal(&addresses.bytes[0], &addresses.bytes[8 * done], all.addresses.data()));
        ASSERT_LE(count_tagged(places.tag, all.words.data(), count), count);
      }
    }
  }
}

// Just outside, between two places, and where a difference wraps.
TEST(VectorRows, AnAddressThatIsOfNoPlaceIsLeftToTheCaller) {
  std::mt19937 random(4);
  const Places places{0x10000, 40, 4, 7, 0, 1};
  for (const std::uint64_t wrong :
       {std::uint64_t{0}, std::uint64_t{0xFFF0}, std::uint64_t{0x10001}, std::uint64_t{0x10008},
        std::uint64_t{0x10000 + 40 * 16}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    for (std::size_t bad = 0; bad < kMostValues; ++bad) {
      Pointers all(places, kMostValues, random);
      store_little_endian(&all.addresses[8 * bad], wrong);
      Bytes words(16 * kMostValues);
      EXPECT_LE(addresses_to_words(places, all.addresses.data(), words.data(), kMostValues), bad);
    }
  }
}

TEST(VectorRows, WordsThatAreOfNoPlaceAreLeftToTheCaller) {
  std::mt19937 random(5);
  const Places places{0x10000, 40, 4, 7, 2, 1};
  const std::uint64_t wrongs[][2] = {{7, 1}, {7, 42}, {7, ~std::uint64_t{0}},
                                     {0, 0}, {6, 20}, {7, std::uint64_t{1} << 63}};
  for (const auto& wrong : wrongs) {
    for (std::size_t bad = 0; bad < kMostValues; ++bad) {
      Pointers all(places, kMostValues, random);
      store_little_endian(&all.words[16 * bad], wrong[0]);
      store_little_endian(&all.words[16 * bad + 8], wrong[1]);
      Bytes addresses(8 * kMostValues);
      EXPECT_LE(words_to_addresses(places, all.words.data(), addresses.data(), kMostValues), bad);
      if (wrong[0] == places.tag) continue;
      EXPECT_LE(count_tagged(places.tag, all.words.data(), kMostValues), bad);
    }
  }
}

TEST(VectorRows, AStringIsCopiedUpToItsNulOnly) {
  std::mt19937 random(6);
  for (std::size_t most = 1; most <= 300; ++most) {
    for (const std::size_t length : {std::size_t{0}, most / 3, most - 1, most}) {
      Bytes from(most, std::byte{'x'});
      if (length < most) from[length] = std::byte{0};
      if (length + 2 < most) from[length + 1 + random() % (most - length - 1)] = std::byte{0};
      Target to(most, 1);
      ASSERT_EQ(copy_string(to.bytes.data(), from.data(), most), length);
      ASSERT_TRUE(to.is_intact());
      if (length < most) {
        ASSERT_EQ(std::memcmp(to.bytes.data(), from.data(), length), 0);
      }
    }
  }
}

}  // namespace
}  // namespace iw::platform
