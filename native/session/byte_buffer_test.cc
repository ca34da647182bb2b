#include "session/byte_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace iw::session {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

std::byte value_at(std::size_t i) { return static_cast<std::byte>(i * 13 + i / 4096); }

void append(ByteBuffer& buffer, std::size_t count) {
  const std::size_t begin = buffer.size_bytes();
  const std::span<std::byte> room = buffer.room(count);
  ASSERT_EQ(room.size(), count);
  for (std::size_t i = 0; i < count; ++i) room[i] = value_at(begin + i);
  buffer.filled(count);
}

bool holds_values_from(const ByteBuffer& buffer, std::size_t begin) {
  for (std::size_t i = begin; i < buffer.size_bytes(); ++i) {
    if (buffer.bytes()[i] != value_at(i)) return false;
  }
  return true;
}

TEST(ByteBuffer, KeepsItsBytesThroughEverySize) {
  ByteBuffer buffer;
  EXPECT_TRUE(buffer.bytes().empty());
  for (const std::size_t more : {std::size_t{1}, mib / 10, mib, 2 * mib, 6 * mib + 7, mib}) {
    append(buffer, more);
    ASSERT_TRUE(holds_values_from(buffer, 0)) << more;
  }
  const ByteBuffer copy = buffer.copy();
  const ByteBuffer moved = std::move(buffer);
  EXPECT_TRUE(std::ranges::equal(copy.bytes(), moved.bytes()));
}

TEST(ByteBuffer, SpentBytesTakeNoOthersWithThem) {
  for (const std::size_t size : {mib, 8 * mib, 21 * mib + 3}) {
    ByteBuffer buffer;
    append(buffer, size);
    for (std::size_t end = 0; end <= size; end += 700'001) {
      buffer.spent(buffer.bytes().data() + end);
      ASSERT_EQ(buffer.size_bytes(), size);
      ASSERT_EQ(buffer.bytes()[std::min(end, size - 1)], value_at(std::min(end, size - 1)));
    }
    buffer.spent(buffer.bytes().data() + size / 2 / mib * mib);
    ASSERT_TRUE(holds_values_from(buffer, size / 700'001 * 700'001));
  }
}

}  // namespace
}  // namespace iw::session
