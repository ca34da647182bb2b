#include "diff/block_prediction.h"

#include "memory/address_map.h"

namespace iw::diff {

namespace {

// A record whose fields are all of one type, without padding, is a row of them.
bool is_row_of(const types::Type& type, const types::Type& part) {
  return type.kind == types::Kind::record &&
         type.size_bytes == type.fields.size() * part.size_bytes &&
         std::all_of(type.fields.begin(), type.fields.end(), [&](const types::Field& field) {
           return types::same_type(*field.type, part);
         });
}

// Where values of `target` lie in a block, if one of them has this offset and unit: all elements of
// an array, or the same part of each record.
Lattice lattice_of(const memory::Block& block, std::size_t offset_bytes, std::uint64_t unit,
                   const types::Type& target) {
  const types::Type* element = block.type;
  while (element->kind == types::Kind::array && !types::same_type(*element, target)) {
    element = element->element;
  }
  Lattice lattice;
  lattice.stride_bytes = element->size_bytes;
  lattice.stride_units = element->units;
  std::size_t before_bytes = 0;
  if (is_row_of(*element, target)) {
    lattice.stride_bytes = target.size_bytes;
    lattice.stride_units = target.units;
  } else if (!types::same_type(*element, target)) {
    before_bytes = offset_bytes % element->size_bytes;
    lattice.first_unit = unit % element->units;
  }
  lattice.begin = block.address + before_bytes;
  lattice.size_bytes = block.size_bytes - before_bytes;
  lattice.units = block.count * block.type->units - lattice.first_unit;
  lattice.is_power_of_two = std::has_single_bit(lattice.stride_bytes);
  lattice.shift = static_cast<unsigned>(std::countr_zero(lattice.stride_bytes));
  return lattice;
}

}  // namespace

void BlockPrediction::consider(const PointerWords& words, const void* address) {
  considered_ = words.block;
  memory::FoundBlock found;
  if (target_ == nullptr || words.block == 0 || !memory::find_block(address, found)) return;
  const memory::Block& block = found.block;
  if (block.serial != words.block >> 16 || found.offset_bytes >= block.size_bytes) return;
  lattice_ = lattice_of(block, found.offset_bytes, words.unit, *target_);
  lattice_.block = words.block;
}

}  // namespace iw::diff
