// Turns a picture and a status line into what a terminal needs to be sent to show them. Pure text:
// it touches no terminal.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "command_line/terminal_size.h"
#include "viewer/colour_map.h"
#include "viewer/picture.h"

namespace astroflow {

enum class ColourMode {
  kAscii,      // no colours: a character that is as dense as the gas
  k256,        // half blocks in the 6 x 6 x 6 colour cube
  kTrueColour  // half blocks in 24-bit colour
};

// What the environment promises. `colorterm` and `term` may be null, like getenv's result.
ColourMode colour_mode_for(bool is_terminal, const char* term, const char* colorterm,
                           const char* no_color);
std::optional<ColourMode> colour_mode_named(std::string_view name);

using command_line::TerminalSize;

// Lines of characters, for a log.
std::string as_text(const Picture& picture, const ColourMap& colours);

class Canvas {
 public:
  explicit Canvas(ColourMode mode) : mode_(mode) {}

  // The picture on the upper rows, `status` on the last. Only cells that changed since the last
  // frame are sent, unless the size or the picture's shape did.
  std::string frame(const double* field, const Grid& grid, const ColourMap& colours,
                    TerminalSize size, std::string_view status);
  // The next frame sends every cell.
  void forget() { shown_.clear(); }

 private:
  struct Cell {
    Rgb upper{}, lower{};
    char character = 0;
    bool operator==(const Cell&) const = default;
  };
  std::vector<Cell> cells_of(const double* field, const Grid& grid, const ColourMap& colours,
                             TerminalSize room, PictureSize& cells) const;
  void append_cell(std::string& out, const Cell& cell, const Cell* previous) const;
  void append_colour(std::string& out, int layer, Rgb colour) const;

  ColourMode mode_;
  TerminalSize size_{0, 0};
  std::vector<Cell> shown_;
};

}  // namespace astroflow
