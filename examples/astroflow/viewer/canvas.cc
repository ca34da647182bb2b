// A half block (upper half in the foreground colour, lower half in the background colour) makes two
// nearly square picture elements of one terminal cell.
#include "viewer/canvas.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace astroflow {
namespace {

constexpr std::string_view kRamp = " .:-=+*#%@";
constexpr std::string_view kUpperHalf = "\xe2\x96\x80";
constexpr int kForeground = 38;
constexpr int kBackground = 48;

// The nearest of the six levels of the colour cube: 0, 95, 135, 175, 215, 255.
int cube_level(uint8_t value) {
  if (value < 48) return 0;
  if (value < 115) return 1;
  return (value - 35) / 40;
}

char ramp_character(const ColourMap& colours, double value) {
  const auto last = static_cast<double>(kRamp.size() - 1);
  return kRamp[static_cast<size_t>(colours.share(value) * last + 0.5)];
}

void append_position(std::string& out, int row, int column) {
  out += "\x1b[" + std::to_string(row + 1) + ';' + std::to_string(column + 1) + 'H';
}

bool is_set(const char* value) { return value != nullptr && *value != '\0'; }

}  // namespace

ColourMode colour_mode_for(bool is_terminal, const char* term, const char* colorterm,
                           const char* no_color) {
  if (!is_terminal || !is_set(term) || std::strcmp(term, "dumb") == 0 || is_set(no_color)) {
    return ColourMode::kAscii;
  }
  if (is_set(colorterm)) {
    const std::string_view value = colorterm;
    if (value == "truecolor" || value == "24bit") return ColourMode::kTrueColour;
  }
  return std::strstr(term, "direct") != nullptr ? ColourMode::kTrueColour : ColourMode::k256;
}

std::optional<ColourMode> colour_mode_named(std::string_view name) {
  if (name == "ascii") return ColourMode::kAscii;
  if (name == "256") return ColourMode::k256;
  if (name == "24bit") return ColourMode::kTrueColour;
  return std::nullopt;
}

std::string as_text(const Picture& picture, const ColourMap& colours) {
  std::string out;
  for (int row = 0; row < picture.height; ++row) {
    for (int column = 0; column < picture.width; ++column) {
      out += ramp_character(colours, picture.at(column, row));
    }
    out += '\n';
  }
  return out;
}

std::string Canvas::frame(const double* field, const Grid& grid, const ColourMap& colours,
                          TerminalSize size, std::string_view status) {
  std::string out;
  PictureSize room{};
  const std::vector<Cell> cells = cells_of(field, grid, colours, size, room);
  if (size.columns != size_.columns || size.rows != size_.rows || shown_.size() != cells.size()) {
    out += "\x1b[0m\x1b[2J";
    size_ = size;
    shown_.clear();
  }
  const int left = std::max(0, (size.columns - room.width) / 2);
  const Cell* previous = nullptr;  // the cell sent last, whose colours still hold
  for (int row = 0; row < room.height; ++row) {
    bool adjacent = false;
    for (int column = 0; column < room.width; ++column) {
      const size_t i = static_cast<size_t>(row) * room.width + column;
      const bool changed = shown_.empty() || shown_[i] != cells[i];
      if (changed) {
        if (!adjacent) append_position(out, row, left + column);
        append_cell(out, cells[i], previous);
        previous = &cells[i];
      }
      adjacent = changed;
    }
  }
  out += "\x1b[0m";
  append_position(out, std::max(0, size.rows - 1), 0);
  // The very last cell stays free: writing it would scroll some terminals.
  out += status.substr(0, static_cast<size_t>(std::max(0, size.columns - 1)));
  out += "\x1b[K";
  shown_ = cells;
  return out;
}

std::vector<Canvas::Cell> Canvas::cells_of(const double* field, const Grid& grid,
                                           const ColourMap& colours, TerminalSize size,
                                           PictureSize& cells) const {
  const PictureSize elements =
      fitting(grid, std::max(1, size.columns), 2 * std::max(1, size.rows - 1));
  cells = {elements.width, std::max(1, elements.height / 2)};
  std::vector<Cell> out;
  out.reserve(static_cast<size_t>(cells.width) * cells.height);
  if (mode_ == ColourMode::kAscii) {
    const Picture picture = scaled(field, grid, cells.width, cells.height);
    for (const double value : picture.values) {
      out.push_back({{}, {}, ramp_character(colours, value)});
    }
    return out;
  }
  const Picture picture = scaled(field, grid, cells.width, 2 * cells.height);
  for (int row = 0; row < cells.height; ++row) {
    for (int column = 0; column < cells.width; ++column) {
      out.push_back(
          {colours(picture.at(column, 2 * row)), colours(picture.at(column, 2 * row + 1)), 0});
    }
  }
  return out;
}

void Canvas::append_cell(std::string& out, const Cell& cell, const Cell* previous) const {
  if (mode_ == ColourMode::kAscii) {
    out += cell.character;
    return;
  }
  if (previous == nullptr || previous->upper != cell.upper) {
    append_colour(out, kForeground, cell.upper);
  }
  if (previous == nullptr || previous->lower != cell.lower) {
    append_colour(out, kBackground, cell.lower);
  }
  out += kUpperHalf;
}

void Canvas::append_colour(std::string& out, int layer, Rgb colour) const {
  out += "\x1b[" + std::to_string(layer);
  if (mode_ == ColourMode::kTrueColour) {
    out += ";2;" + std::to_string(colour.red) + ';' + std::to_string(colour.green) + ';' +
           std::to_string(colour.blue) + 'm';
  } else {
    const int index =
        16 + 36 * cube_level(colour.red) + 6 * cube_level(colour.green) + cube_level(colour.blue);
    out += ";5;" + std::to_string(index) + 'm';
  }
}

}  // namespace astroflow
