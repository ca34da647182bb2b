#include "diff/block_prediction.h"

#include "memory/address_map.h"

namespace iw::diff {

void BlockPrediction::consider(const PointerWords& words, const void* address) {
  considered_ = words.block;
  memory::FoundBlock found;
  if (target_ == nullptr || words.block == 0 || !memory::find_block(address, found)) return;
  const memory::Block& block = found.block;
  if (block.serial != words.block >> 16 || !types::same_type(*block.type, *target_)) return;
  array_.block = words.block;
  array_.begin = block.address;
  array_.size_bytes = block.size_bytes;
  array_.units = block.count * block.type->units;
  array_.element_bytes = block.type->size_bytes;
  array_.element_units = block.type->units;
  array_.is_power_of_two = std::has_single_bit(array_.element_bytes);
  array_.shift = static_cast<unsigned>(std::countr_zero(array_.element_bytes));
}

}  // namespace iw::diff
