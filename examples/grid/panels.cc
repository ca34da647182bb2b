#include "grid/panels.h"

#include <algorithm>
#include <sstream>

namespace grid {
namespace {

constexpr int margin = 3;  // a grid's number and part
constexpr char letters[] = ".rgybmc";

bool is_cells(const std::string& text, std::size_t cells) {
  if (text.size() != 2 * cells) return false;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const bool is_colour = text[i] >= '0' && text[i] <= '6';
    if (!is_colour || text[i + 1] < '0' || text[i + 1] > '9') return false;
  }
  return true;
}

std::string cell_text(char colour, char number, bool is_alive, bool has_colours) {
  if (colour == '0') return has_colours ? "\x1b[0;2m .\x1b[0m" : " .";
  if (!has_colours) return {letters[colour - '0'], number};
  const std::string kind = is_alive ? "30;4" : "2;3";
  return "\x1b[0;" + kind + colour + "m " + number + "\x1b[0m";
}

std::string padded(std::string text, int width) {
  text.resize(static_cast<std::size_t>(width), ' ');
  return text;
}

// A row of a panel: which grid, and which of that grid's rows.
std::string panel_row(const Panel& panel, std::size_t row, std::size_t grid_rows, int grid_columns,
                      bool has_colours) {
  const std::size_t number = row / grid_rows;
  const std::size_t cell_columns = static_cast<std::size_t>(grid_columns);
  if (number >= panel.grids.size()) return padded("", margin + 2 * grid_columns);
  const PanelGrid& grid = panel.grids[number];
  const bool is_first = row % grid_rows == 0;
  std::string text = is_first ? std::to_string(number) + (grid.part == 'r' ? ' ' : grid.part) : "";
  text = padded(text, margin);
  for (std::size_t i = 0; i < cell_columns; i++) {
    const std::size_t at = 2 * (row % grid_rows * cell_columns + i);
    text += cell_text(grid.cells[at], grid.cells[at + 1], panel.is_alive, has_colours);
  }
  return text;
}

std::size_t grid_rows_of(const std::vector<Panel>& panels, int grid_columns) {
  for (const Panel& each : panels) {
    if (each.grids.empty()) continue;
    return each.grids[0].cells.size() / (2 * static_cast<std::size_t>(grid_columns));
  }
  return 1;
}

}  // namespace

std::optional<std::vector<PanelGrid>> parse_frame(const std::string& text, std::size_t grids,
                                                  std::size_t cells) {
  std::istringstream words(text);
  std::vector<PanelGrid> result;
  for (PanelGrid grid; words >> grid.part >> grid.cells;) {
    if (!is_cells(grid.cells, cells)) return std::nullopt;
    result.push_back(grid);
  }
  if (result.size() != grids) return std::nullopt;
  return result;
}

std::vector<std::string> draw(const std::vector<Panel>& panels, int grid_columns, int width,
                              bool has_colours) {
  const int panel_width = margin + 2 * grid_columns;
  const auto beside = static_cast<std::size_t>(std::max((width + 1) / (panel_width + 1), 1));
  const std::size_t grid_rows = grid_rows_of(panels, grid_columns);
  std::vector<std::string> lines;
  for (std::size_t first = 0; first < panels.size(); first += beside) {
    const std::size_t end = std::min(first + beside, panels.size());
    std::string titles;
    std::size_t rows = 0;
    for (std::size_t i = first; i < end; i++) {
      titles += padded(panels[i].title, panel_width) + " ";
      rows = std::max(rows, grid_rows * panels[i].grids.size());
    }
    lines.push_back(titles);
    for (std::size_t row = 0; row < rows; row++) {
      std::string line;
      for (std::size_t i = first; i < end; i++) {
        line += panel_row(panels[i], row, grid_rows, grid_columns, has_colours) + " ";
      }
      lines.push_back(line);
    }
  }
  return lines;
}

}  // namespace grid
