// A body travels behind its length, wherever its bytes lie.
#include "diff/pieces.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace iw::diff {
namespace {

using Bytes = std::vector<std::byte>;

Bytes flattened(const Pieces& pieces) {
  std::vector<Pieces::Slice> slices;
  pieces.slices(slices);
  Bytes bytes;
  for (const Pieces::Slice& slice : slices) bytes.insert(bytes.end(), slice.begin(), slice.end());
  return bytes;
}

void append_body(Bytes& to, const Bytes& body) {
  std::byte length[kMaxVarintBytes];
  to.insert(to.end(), length, length + put_varint(body.size(), length));
  to.insert(to.end(), body.begin(), body.end());
}

TEST(Pieces, BodiesOfAnyLengthFollowTheirLength) {
  constexpr std::size_t kLeast = Pieces::kLeastSliceBytes;
  Pieces pieces;
  for (int turn = 0; turn < 2; ++turn) {
    Bytes expected;
    for (const std::size_t length : {std::size_t{0}, std::size_t{127}, std::size_t{128}, kLeast - 1,
                                     kLeast, std::size_t{20000}, std::size_t{1}}) {
      const Bytes body(length, static_cast<std::byte>(length % 251));
      const Pieces::Body place = pieces.begin_body();
      pieces.append(body.data(), body.size());
      pieces.end_body(place);
      append_body(expected, body);
      pieces.append("x", 1);
      expected.push_back(std::byte{'x'});
    }
    EXPECT_EQ(pieces.size_bytes(), expected.size());
    EXPECT_EQ(flattened(pieces), expected);
    pieces.clear();
    EXPECT_EQ(pieces.size_bytes(), 0u);
  }
}

TEST(Pieces, ABodyMayHoldViews) {
  const Bytes viewed(5000, std::byte{'v'});
  Pieces pieces;
  Bytes expected;
  for (int i = 0; i < 2; ++i) {
    const Pieces::Body place = pieces.begin_body();
    pieces.append("ab", 2);
    pieces.append_view(viewed.data(), viewed.size());
    pieces.append_view(viewed.data(), viewed.size());
    pieces.append("c", 1);
    pieces.end_body(place);
    Bytes body = {std::byte{'a'}, std::byte{'b'}};
    for (int k = 0; k < 2; ++k) body.insert(body.end(), viewed.begin(), viewed.end());
    body.push_back(std::byte{'c'});
    append_body(expected, body);
  }
  EXPECT_EQ(pieces.size_bytes(), expected.size());
  EXPECT_EQ(flattened(pieces), expected);
}

TEST(Pieces, ALongBodyStaysWhereItIs) {
  Pieces pieces;
  pieces.append("head", 4);
  const Pieces::Body place = pieces.begin_body();
  const std::byte* const body = pieces.extend(Pieces::kLeastSliceBytes);
  pieces.end_body(place);
  std::vector<Pieces::Slice> slices;
  pieces.slices(slices);
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[1].data() + slices[1].size(), body + Pieces::kLeastSliceBytes);
}

}  // namespace
}  // namespace iw::diff
