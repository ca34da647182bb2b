// What travels between the demo's processes: the grid's bytes, and the frames that are drawn.
#include "grid/grid.h"

#include <gtest/gtest.h>

#include "grid/panels.h"

namespace grid {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(Grid& grid) {
  Bytes bytes;
  MarshalStream stream(
      [&](const Bytes& buffer) { bytes.insert(bytes.end(), buffer.begin(), buffer.end()); });
  EXPECT_EQ(grid.Marshal(&stream), OBJ_RETURN_SUCCESS);
  stream.finish();
  return bytes;
}

bool takes(Grid& grid, const Bytes& bytes) {
  const DeMarshalStream::Buffers buffers{bytes};
  DeMarshalStream stream(buffers);
  return grid.DeMarshal(&stream) == OBJ_RETURN_SUCCESS;
}

Grid some_grid() {
  Grid grid(2, 3);
  grid.begin_term(4);
  grid.Insert(std::make_shared<Place>(1, 2), std::make_shared<Square>(Cell{9, colours}));
  grid.Insert(std::make_shared<Place>(0, 0), std::make_shared<Square>(Cell{5, 1}));
  grid.move({0, 0}, {0, 1});
  return grid;
}

}  // namespace

TEST(Grid, IsTheSameOnTheOtherSide) {
  Grid here = some_grid(), there(1, 1);
  ASSERT_TRUE(takes(there, bytes_of(here)));
  EXPECT_EQ(there.stamp(), (Stamp{1, 4, 3}));
  EXPECT_EQ(digest_of({&here}), digest_of({&there}));
  EXPECT_EQ(there.at(0, 1).number, 5);
  EXPECT_EQ(there.at(0, 0).colour, 0);
  there.Delete(std::make_shared<Place>(1, 2));
  EXPECT_NE(digest_of({&here}), digest_of({&there}));
}

TEST(Grid, IsWhatItWasAfterBytesThatAreNone) {
  Grid sound = some_grid(), grid = some_grid();
  const Bytes bytes = bytes_of(sound);
  std::vector<Bytes> bad(5, bytes);
  bad[0].pop_back();
  bad[1].push_back({});
  bad[2].back() = std::byte{colours + 1};
  bad[3][16] = std::byte{0};             // rows
  bad[4][20] = std::byte{side_max + 1};  // columns
  for (std::size_t i = 0; i < bad.size(); i++) EXPECT_FALSE(takes(grid, bad[i])) << i;
  EXPECT_EQ(digest_of({&grid}), digest_of({&sound}));
}

TEST(Grid, KeepsToItsPlaces) {
  Grid grid = some_grid();
  const auto square = std::make_shared<Square>(Cell{1, 1});
  EXPECT_EQ(grid.Insert(std::make_shared<Place>(2, 0), square), OBJ_RETURN_FAIL);
  EXPECT_EQ(grid.Insert(square, square), OBJ_RETURN_FAIL);
  EXPECT_EQ(grid.Delete(nullptr), OBJ_RETURN_FAIL);
  grid.move({1, 2}, {0, 3});
  EXPECT_EQ(grid.at(1, 2).number, 9);
  EXPECT_EQ(grid.stamp().updates, 7u) << "readers count them, too";
}

TEST(Panels, AreDrawnOfFramesAndOfNothingElse) {
  const auto grids = parse_frame("w 1700 r 0062", 2, 2);
  ASSERT_TRUE(grids);
  for (const char* each : {"w 1700", "w 1700 r 00", "w 1700 r 0072", "w 1700 r 00a2", ""}) {
    EXPECT_FALSE(parse_frame(each, 2, 2)) << each;
  }
  const Panel alive{"alive", true, *grids}, empty{"empty", false, {}};
  EXPECT_EQ(draw({alive, empty}, 2, 80, false),
            (std::vector<std::string>{"alive   empty   ", "0w r7 .         ", "1   .c2         "}));
  EXPECT_EQ(draw({alive, alive}, 1, 10, false).size(), 10u) << "one below the other";
}

}  // namespace grid
