// Owned blocks (spec/format/wire-format.md, WIRE-7): the values of `T x<>` and `string s<>` fields.
// Assigning makes a new block. The previous block, and the blocks of a freed struct, are freed at
// the release [COPY-4], because only then is it known that no other field leads to them. The heap
// notes all changes, so an abort undoes it.
#include <cstring>

#include "copy/copy.h"
#include "copy/owned_fields.h"
#include "copy/owned_settlement.h"
#include "protocol/descriptor.gen.h"
#include "types/navigation.h"
#include "types/plan.h"
#include "types/type.h"

namespace iw::copy {

using memory::Block;
using protocol::error_code;
using types::NativeSequence;
using types::Type;
using types::UnitKind;
using types::UnitRow;

namespace {

// The sequence or text that begins at a byte of `count` values at `base`, also in the active arm of
// a union; null: none does.
const Type* owning_field_at(const Type& type, std::uint64_t count, const std::byte* base,
                            std::size_t offset_bytes) {
  if (offset_bytes >= count * type.size_bytes) return nullptr;
  const types::UnitAt at = types::unit_of_byte(type, count, offset_bytes);
  if (at.in_padding) return nullptr;
  const Type* found = nullptr;
  types::for_each_row(
      types::array_step(type, count), at.unit, at.unit + 1, [&](const UnitRow& row) {
        if (row.kind == UnitKind::choice) {
          std::int32_t discriminant;
          std::memcpy(&discriminant, base + row.offset_bytes, sizeof discriminant);
          const types::Arm* const arm = row.type->arm_for(discriminant);
          if (arm == nullptr || arm->type == nullptr) return false;
          const std::size_t arm_bytes = row.offset_bytes + arm->offset_bytes;
          if (offset_bytes < arm_bytes) return false;
          found = owning_field_at(*arm->type, 1, base + arm_bytes, offset_bytes - arm_bytes);
        } else if ((row.kind == UnitKind::sequence || row.kind == UnitKind::text) &&
                   offset_bytes == row.offset_bytes) {
          found = row.type;
        }
        return false;
      });
  return found;
}

Result check_value(const Type& field, const void* source, std::uint64_t count) {
  if (field.count != 0 && count > field.count) {
    return {error_code::TOO_LARGE, std::to_string(count) + " values for a field of " +
                                       field.spelled() + ": its bound is " +
                                       std::to_string(field.count)};
  }
  if (field.kind == types::Kind::text) {
    if (source == nullptr && count > 0) {
      return {error_code::BAD_ARGUMENT, "the characters to assign are NULL"};
    }
    if (count > 0 && std::memchr(source, 0, count) != nullptr) {
      return {error_code::BAD_VALUE, "a string with a NUL among its characters"};
    }
    return {};
  }
  if (source != nullptr && has_owned_fields(*field.element)) {
    return {error_code::BAD_ARGUMENT,
            "elements with strings or sequences of their own cannot be copied; pass NULL for "
            "zeros and assign the fields of each"};
  }
  return {};
}

}  // namespace

Result Copy::free(void* block) {
  const platform::MutexLock lock(mutex_);
  Block found;
  if (!heap_->find_at(block, found) || found.address != block) {
    return {error_code::BAD_POINTER, "the address to free is not the beginning of a block"};
  }
  if (found.is_owned) {
    return {error_code::BAD_ARGUMENT,
            "the block belongs to a field; assign to the field or free its owner"};
  }
  return heap_->free(found.serial);
}

Result Copy::assign(void* field, const void* source, std::uint64_t count) {
  const platform::MutexLock lock(mutex_);
  Block owner;
  const Type* type = nullptr;
  if (heap_->find_at(field, owner)) {
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(field) - owner.address);
    type = owning_field_at(*owner.type, owner.count, owner.address, offset);
  }
  if (type == nullptr) {
    return {error_code::BAD_POINTER,
            "the address is not that of a string or sequence field of the segment"};
  }
  if (Result good = check_value(*type, source, count); !good) return good;
  const bool is_text = type->kind == types::Kind::text;
  NativeSequence value{static_cast<unsigned int>(count), nullptr};
  if (count > 0) {
    if (Result made = make_owned(*type, source, count, value.elements); !made) return made;
  }
  std::memcpy(field, is_text ? static_cast<void*>(&value.elements) : &value, type->size_bytes);
  return {};
}

Result Copy::make_owned(const Type& field, const void* source, std::uint64_t count, void*& out) {
  const bool is_text = field.kind == types::Kind::text;
  const Type& element =
      is_text ? types::primitive_type(types::Primitive::character) : *field.element;
  Result why;
  const Type* const own = types_.add(element, why);
  if (own == nullptr) return why;
  Block block;
  const std::uint64_t values = is_text ? count + 1 : count;  // the NUL
  if (Result made = heap_->allocate(*own, values, "", true, block); !made) return made;
  if (source != nullptr) std::memcpy(block.address, source, count * own->size_bytes);
  out = block.address;
  return {};
}

// Types are only added while a copy is not replaced or rolled back.
bool Copy::may_have_owned_fields() {
  for (; types_seen_ < types_.next_serial(); ++types_seen_) {
    const Type* const type = types_.find(types_seen_);
    if (type == nullptr) continue;
    has_owning_types_ = has_owning_types_ || has_owned_fields(*type);
    has_char_sequences_ = has_char_sequences_ ||
                          (type->kind == types::Kind::sequence &&
                           type->element == &types::primitive_type(types::Primitive::character));
  }
  return has_owning_types_;
}

void Copy::types_replaced() {
  types_seen_ = 0;
  has_owning_types_ = false;
  has_char_sequences_ = false;
}

// Asking a server. Nobody else changes the copy while it is written.
Result Copy::ask_for_serials(const MoreSerials& more_serials) {
  const platform::MutexUnlock asking(mutex_);
  return more_serials();
}

Result Copy::assign_owners(const MoreSerials& more_serials,
                           std::vector<memory::SubsegmentPages>& written,
                           std::vector<memory::SubsegmentRuns>& runs) {
  OwnedSettlement settlement(*heap_, written);
  if (Result found = settlement.find(runs); !found) return found;
  if (settlement.stores()) {
    if (Result resumed = heap_->resume_write(); !resumed) return resumed;
  }
  Result settled = settlement.settle([&] {
    mutex_.assert_held();
    return ask_for_serials(more_serials);
  });
  if (!settled) return settled;
  if (settlement.stores()) {
    if (Result listed = heap_->collect(written); !listed) return listed;
    Result found = heap_->changed_runs(written, runs, splicing_of(optimisations()));
    if (!found) return found;
  }
  return check_texts(runs);
}

// A text whose NUL was overwritten in its block: its field was not stored to, so that the
// translation does not look. In a segment with sequences of char a block does not say which of both
// it is.
Result Copy::check_texts(std::span<const memory::SubsegmentRuns> changed) const {
  if (has_char_sequences_) return {};
  Result result;
  std::uint64_t last_serial = 0;
  heap_->for_each_part(changed, [&](const memory::BlockPart& part) {
    const memory::Block& block = part.block;
    const bool is_text = block.is_owned && !block.is_freed &&
                         block.type->kind == types::Kind::primitive &&
                         block.type->primitive == types::Primitive::character;
    if (!result.ok() || !is_text || block.serial == last_serial) return;
    last_serial = block.serial;
    if (std::memchr(block.address, 0, block.size_bytes) != nullptr) return;
    result = {
        error_code::BAD_VALUE,
        "block " + std::to_string(block.serial) + ", the text of " +
            std::to_string(block.size_bytes - 1) +
            " characters, has no NUL within its block; give the field a longer one with IW_assign"};
  });
  return result;
}

}  // namespace iw::copy
