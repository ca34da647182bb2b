// What each process sees, drawn beside each other: a panel for each, with all grids one below the
// other. Pure text: it touches no terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace grid {

// A grid in a panel. `part`: w, r or - (the process writes it, reads it, has no tie with a writer).
struct PanelGrid {
  char part = '-';
  std::string cells;  // two digits each: colour, number
};
struct Panel {
  std::string title;
  bool is_alive = true;
  std::vector<PanelGrid> grids;
};

// Of a member's `frame` line, without that word; nothing if it is not one.
std::optional<std::vector<PanelGrid>> parse_frame(const std::string& text, std::size_t grids,
                                                  std::size_t cells);

// Lines, as many panels beside each other as the width has room for.
std::vector<std::string> draw(const std::vector<Panel>& panels, int grid_columns, int width,
                              bool has_colours);

}  // namespace grid
