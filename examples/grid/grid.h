// The container of the demo: a grid of squares, each empty or with a number and a colour. As in the
// paper it implements the interface of a standard container, and what is inserted is wrapped in
// Objects; `move` is a function of its own, which ships by its number.
#pragma once

#include <interweave/containers.hpp>

namespace grid {

using namespace iw::containers;

inline constexpr int colours = 6;
inline constexpr int side_max = 64;

struct Cell {
  std::uint8_t number = 0;
  std::uint8_t colour = 0;  // 0: the square is empty; else 1 to `colours`
};

// Which square: row and column.
class Place : public Object {
 public:
  Place() = default;
  Place(int row, int column)
      : row_(static_cast<std::uint16_t>(row)), column_(static_cast<std::uint16_t>(column)) {}
  OBJ_RETURN Marshal(MarshalStream* stream) override;
  OBJ_RETURN DeMarshal(DeMarshalStream* stream) override;
  int row() const { return row_; }
  int column() const { return column_; }

 private:
  std::uint16_t row_ = 0, column_ = 0;
};

// What lies there.
class Square : public Object {
 public:
  Square() = default;
  explicit Square(Cell cell) : cell_(cell) {}
  OBJ_RETURN Marshal(MarshalStream* stream) override;
  OBJ_RETURN DeMarshal(DeMarshalStream* stream) override;
  Cell cell() const { return cell_; }

 private:
  Cell cell_;
};

// Which state of a grid it is: two that were written by the same process in the same term with as
// many updates are the same state.
struct Stamp {
  std::uint32_t term = 0;  // how many writers it has had
  std::uint32_t writer = 0;
  std::uint64_t updates = 0;
  bool operator==(const Stamp&) const = default;
};

// A place outside changes nothing, so that a writer's mistake does not damage the readers.
class Grid : public StandardContainer {
 public:
  Grid(int rows, int columns);
  OBJ_RETURN Insert(Ref place, Ref square) override;
  OBJ_RETURN Delete(Ref place, Ref nothing = nullptr) override;
  OBJ_RETURN Clear() override;
  OBJ_RETURN Marshal(MarshalStream* stream) override;
  OBJ_RETURN DeMarshal(DeMarshalStream* stream) override;
  // The square is carried to the other place, over what lies there.
  void move(Place from, Place to);
  static void list(Functions<Grid>& functions);

  // Before a process begins to write it.
  void begin_term(int writer);
  const Stamp& stamp() const { return stamp_; }
  int rows() const { return rows_; }
  int columns() const { return columns_; }
  const Cell& at(int row, int column) const;

 private:
  Cell* find(const Place& place);
  Cell* find(const Ref& place);

  int rows_, columns_;
  std::vector<Cell> cells_;
  Stamp stamp_;
};

// Both sides must know the wrappers by name.
void register_objects();

// Of what travels of each: whoever has the same grids has the same digest.
std::uint64_t digest_of(const std::vector<const Grid*>& grids);

}  // namespace grid
