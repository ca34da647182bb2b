// Colours, scaling, what is sent to a terminal, PNG files.
#include <gtest/gtest.h>
#include <png.h>

#include <cmath>
#include <cstdio>
#include <filesystem>

#include "viewer/canvas.h"
#include "viewer/colour_map.h"
#include "viewer/picture.h"
#include "viewer/png_file.h"

namespace astroflow {
namespace {

double luminance(Rgb c) { return 0.2126 * c.red + 0.7152 * c.green + 0.0722 * c.blue; }

TEST(ColourMap, GetsBrighterAllTheWay) {
  const ColourMap colours(0, 255);
  for (int i = 1; i < 256; ++i) {
    EXPECT_GT(luminance(colours(i)), luminance(colours(i - 1)) - 0.5) << i;
  }
  EXPECT_LT(luminance(colours(0)), 30);
  EXPECT_GT(luminance(colours(255)), 210);
}

TEST(ColourMap, ClampsWhatLiesOutsideAndSurvivesNonsense) {
  const ColourMap colours(1, 2);
  EXPECT_EQ(colours(-100), colours(1));
  EXPECT_EQ(colours(INFINITY), colours(2));
  EXPECT_EQ(colours(NAN), colours(1));
  const ColourMap empty(1, 1);
  EXPECT_EQ(empty(5), empty(1));
}

TEST(Picture, ShowsTheTopRowFirstAndAveragesCells) {
  const Grid grid{4, 2};
  const double field[] = {1, 3, 5, 7,   // the bottom row
                          2, 2, 8, 8};  // the top row
  const Picture picture = scaled(field, grid, 2, 2);
  EXPECT_EQ(picture.values, (std::vector<double>{2, 8, 2, 6}));
}

TEST(Picture, FinerThanTheGridRepeatsCells) {
  const Grid grid{2, 1};
  const double field[] = {1, 2};
  EXPECT_EQ(scaled(field, grid, 4, 2).values, (std::vector<double>{1, 1, 2, 2, 1, 1, 2, 2}));
}

TEST(Picture, FitsTheRoomWithSquareElements) {
  const Grid square{256, 256};
  EXPECT_EQ(fitting(square, 80, 46).width, 46);
  EXPECT_EQ(fitting(square, 80, 46).height, 46);
  EXPECT_EQ(fitting(square, 20, 46).height, 20);
  EXPECT_EQ(fitting({256, 8}, 80, 46).height, 2);
  EXPECT_EQ(fitting(square, 0, 0).width, 1);
}

TEST(ColourMode, FollowsWhatTheTerminalPromises) {
  const auto mode = colour_mode_for;
  EXPECT_EQ(mode(true, "xterm-256color", "truecolor", nullptr), ColourMode::kTrueColour);
  EXPECT_EQ(mode(true, "xterm-direct", nullptr, nullptr), ColourMode::kTrueColour);
  EXPECT_EQ(mode(true, "xterm-256color", nullptr, nullptr), ColourMode::k256);
  EXPECT_EQ(mode(true, "xterm-256color", "truecolor", "1"), ColourMode::kAscii);
  EXPECT_EQ(mode(true, "dumb", "truecolor", nullptr), ColourMode::kAscii);
  EXPECT_EQ(mode(true, nullptr, nullptr, nullptr), ColourMode::kAscii);
  EXPECT_EQ(mode(false, "xterm-256color", "truecolor", nullptr), ColourMode::kAscii);
}

class CanvasTest : public testing::Test {
 protected:
  const Grid grid_{2, 2};
  std::vector<double> field_{0, 0, 1, 1};  // the upper half dense
  const ColourMap colours_{0, 1};
};

TEST_F(CanvasTest, OneHalfBlockShowsTwoElements) {
  Canvas canvas(ColourMode::kTrueColour);
  const std::string out = canvas.frame(field_.data(), grid_, colours_, {2, 2}, "status");
  const Rgb top = colours_(1), bottom = colours_(0);
  const auto sequence = [](int layer, Rgb c) {
    return "\x1b[" + std::to_string(layer) + ";2;" + std::to_string(c.red) + ";" +
           std::to_string(c.green) + ";" + std::to_string(c.blue) + "m";
  };
  EXPECT_NE(out.find(sequence(38, top) + sequence(48, bottom) + "\xe2\x96\x80\xe2\x96\x80"),
            std::string::npos);
}

TEST_F(CanvasTest, UnchangedPictureSendsOnlyTheStatusLine) {
  Canvas canvas(ColourMode::k256);
  canvas.frame(field_.data(), grid_, colours_, {20, 5}, "one");
  const std::string again = canvas.frame(field_.data(), grid_, colours_, {20, 5}, "two");
  EXPECT_EQ(again, "\x1b[0m\x1b[5;1Htwo\x1b[K");
  field_[0] = 1;
  const std::string changed = canvas.frame(field_.data(), grid_, colours_, {20, 5}, "two");
  EXPECT_NE(changed.find("\xe2\x96\x80"), std::string::npos);
}

TEST_F(CanvasTest, ResizedTerminalIsDrawnAfresh) {
  Canvas canvas(ColourMode::k256);
  canvas.frame(field_.data(), grid_, colours_, {20, 5}, "");
  const std::string out = canvas.frame(field_.data(), grid_, colours_, {30, 6}, "");
  EXPECT_NE(out.find("\x1b[2J"), std::string::npos);
}

TEST_F(CanvasTest, StatusNeverReachesTheLastColumn) {
  Canvas canvas(ColourMode::kAscii);
  const std::string out = canvas.frame(field_.data(), grid_, colours_, {6, 3}, "0123456789");
  EXPECT_NE(out.find("01234\x1b[K"), std::string::npos);
}

TEST_F(CanvasTest, SurvivesATerminalOfNoSize) {
  Canvas canvas(ColourMode::kTrueColour);
  EXPECT_FALSE(canvas.frame(field_.data(), grid_, colours_, {0, 0}, "x").empty());
}

TEST_F(CanvasTest, TextUsesDenserCharactersForDenserGas) {
  EXPECT_EQ(as_text(scaled(field_.data(), grid_, 2, 2), colours_), "@@\n  \n");
}

TEST(PngFile, HoldsOnePixelPerCellTheTopRowFirst) {
  const std::string path = testing::TempDir() + "astroflow_drawing_test.png";
  const Grid grid{2, 2};
  const double field[] = {0, 0.5, 1, 0.25};
  const ColourMap colours(0, 1);
  EXPECT_EQ(write_png(path, field, grid, colours), std::nullopt);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_NE(png_image_begin_read_from_file(&image, path.c_str()), 0) << image.message;
  ASSERT_EQ(image.width, 2u);
  ASSERT_EQ(image.height, 2u);
  image.format = PNG_FORMAT_RGB;
  std::array<Rgb, 4> pixels;
  ASSERT_NE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr), 0);
  EXPECT_EQ(pixels[0], colours(1));
  EXPECT_EQ(pixels[1], colours(0.25));
  EXPECT_EQ(pixels[2], colours(0));
  EXPECT_EQ(pixels[3], colours(0.5));
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
  std::remove(path.c_str());
}

TEST(PngFile, SaysWhichFileCouldNotBeWritten) {
  const double field[] = {0};
  const auto why = write_png("/nowhere/at/all.png", field, {1, 1}, ColourMap(0, 1));
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("/nowhere/at/all.png"), std::string::npos);
}

}  // namespace
}  // namespace astroflow
