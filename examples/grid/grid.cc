#include "grid/grid.h"

namespace grid {
namespace {

OBJ_RETURN result(bool is_good) { return is_good ? OBJ_RETURN_SUCCESS : OBJ_RETURN_FAIL; }

bool marshal_cell(MarshalStream& stream, const Cell& cell) {
  return marshal(stream, cell.number) && marshal(stream, cell.colour);
}

bool demarshal_cell(DeMarshalStream& stream, Cell* cell) {
  return demarshal(stream, &cell->number) && demarshal(stream, &cell->colour) &&
         cell->number <= 9 && cell->colour <= colours;
}

bool is_side(int cells) { return cells >= 1 && cells <= side_max; }

// FNV-1a.
class Hash {
 public:
  void add(const std::vector<std::byte>& bytes) {
    for (const std::byte each : bytes) {
      value_ = (value_ ^ std::to_integer<std::uint64_t>(each)) * 0x100000001b3U;
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

}  // namespace

OBJ_RETURN Place::Marshal(MarshalStream* stream) {
  return result(marshal(*stream, row_) && marshal(*stream, column_));
}

OBJ_RETURN Place::DeMarshal(DeMarshalStream* stream) {
  return result(demarshal(*stream, &row_) && demarshal(*stream, &column_));
}

OBJ_RETURN Square::Marshal(MarshalStream* stream) { return result(marshal_cell(*stream, cell_)); }

OBJ_RETURN Square::DeMarshal(DeMarshalStream* stream) {
  return result(demarshal_cell(*stream, &cell_));
}

Grid::Grid(int rows, int columns)
    : rows_(rows), columns_(columns), cells_(static_cast<std::size_t>(rows * columns)) {}

Cell* Grid::find(const Place& place) {
  if (place.row() >= rows_ || place.column() >= columns_) return nullptr;
  return &cells_[static_cast<std::size_t>(place.row() * columns_ + place.column())];
}

Cell* Grid::find(const Ref& place) {
  const auto where = std::dynamic_pointer_cast<Place>(place);
  return where == nullptr ? nullptr : find(*where);
}

const Cell& Grid::at(int row, int column) const {
  return cells_.at(static_cast<std::size_t>(row * columns_ + column));
}

OBJ_RETURN Grid::Insert(Ref place, Ref square) {
  stamp_.updates++;
  Cell* cell = find(place);
  const auto what = std::dynamic_pointer_cast<Square>(square);
  if (cell == nullptr || what == nullptr) return OBJ_RETURN_FAIL;
  *cell = what->cell();
  return OBJ_RETURN_SUCCESS;
}

OBJ_RETURN Grid::Delete(Ref place, Ref) {
  stamp_.updates++;
  Cell* cell = find(place);
  if (cell == nullptr) return OBJ_RETURN_FAIL;
  *cell = {};
  return OBJ_RETURN_SUCCESS;
}

OBJ_RETURN Grid::Clear() {
  stamp_.updates++;
  cells_.assign(cells_.size(), {});
  return OBJ_RETURN_SUCCESS;
}

void Grid::move(Place from, Place to) {
  stamp_.updates++;
  Cell* source = find(from);
  Cell* target = find(to);
  if (source == nullptr || target == nullptr || source == target) return;
  *target = *source;
  *source = {};
}

void Grid::list(Functions<Grid>& functions) { functions.add<&Grid::move>(1); }

void Grid::begin_term(int writer) {
  stamp_.term++;
  stamp_.writer = static_cast<std::uint32_t>(writer);
}

OBJ_RETURN Grid::Marshal(MarshalStream* stream) {
  bool is_good = marshal(*stream, stamp_.term) && marshal(*stream, stamp_.writer) &&
                 marshal(*stream, stamp_.updates) && marshal(*stream, rows_) &&
                 marshal(*stream, columns_);
  for (const Cell& each : cells_) is_good = is_good && marshal_cell(*stream, each);
  return result(is_good);
}

OBJ_RETURN Grid::DeMarshal(DeMarshalStream* stream) {
  Stamp stamp;
  int rows = 0, columns = 0;
  if (!demarshal(*stream, &stamp.term) || !demarshal(*stream, &stamp.writer) ||
      !demarshal(*stream, &stamp.updates) || !demarshal(*stream, &rows) ||
      !demarshal(*stream, &columns) || !is_side(rows) || !is_side(columns)) {
    return OBJ_RETURN_FAIL;
  }
  std::vector<Cell> cells(static_cast<std::size_t>(rows * columns));
  for (Cell& each : cells) {
    if (!demarshal_cell(*stream, &each)) return OBJ_RETURN_FAIL;
  }
  if (stream->left() != 0) return OBJ_RETURN_FAIL;
  stamp_ = stamp, rows_ = rows, columns_ = columns, cells_ = std::move(cells);
  return OBJ_RETURN_SUCCESS;
}

void register_objects() {
  register_object<Place>("grid.Place");
  register_object<Square>("grid.Square");
}

std::uint64_t digest_of(const std::vector<const Grid*>& grids) {
  Hash hash;
  for (const Grid* each : grids) {
    MarshalStream stream([&](const std::vector<std::byte>& buffer) { hash.add(buffer); });
    Grid(*each).Marshal(&stream);  // Marshal is not const, as in the paper
    stream.finish();
  }
  return hash.value();
}

}  // namespace grid
