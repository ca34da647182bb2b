// Owned blocks (spec/format/wire-format.md, WIRE-7): the values of `T x<>` and `string s<>` fields.
// Assigning replaces them, freeing the struct frees them; everything is undone by an abort, since
// the heap journals it.
#include <cstring>

#include "abi/copy.h"
#include "types/plan.h"
#include "types/type.h"

namespace iw::abi {

using memory::Block;
using protocol::error_code;
using types::NativeSequence;
using types::Type;
using types::UnitKind;
using types::UnitRow;

namespace {

// Calls visit(void* owned block's first byte) for every field of `count` values at `base` that has
// one, also inside the active arms of unions.
template <typename Visit>
void for_each_owned(const Type& type, std::uint64_t count, std::byte* base, Visit&& visit) {
  if (!type.contains_pointers) return;
  types::for_each_row(types::array_step(type, count), 0, count * type.units,
                      [&](const UnitRow& row) {
                        for (std::uint64_t i = 0; i < row.count; ++i) {
                          std::byte* const at = base + row.offset_bytes + i * row.stride_bytes;
                          if (row.kind == UnitKind::sequence) {
                            NativeSequence value;
                            std::memcpy(&value, at, sizeof value);
                            if (value.elements != nullptr) visit(value.elements);
                          } else if (row.kind == UnitKind::text) {
                            void* value;
                            std::memcpy(&value, at, sizeof value);
                            if (value != nullptr) visit(value);
                          } else if (row.kind == UnitKind::choice) {
                            std::int32_t discriminant;
                            std::memcpy(&discriminant, at, sizeof discriminant);
                            const types::Arm* const arm = row.type->arm_for(discriminant);
                            if (arm != nullptr && arm->type != nullptr) {
                              for_each_owned(*arm->type, 1, at + arm->offset_bytes, visit);
                            }
                          }
                        }
                        return true;
                      });
}

bool has_owned_fields(const Type& type) {
  bool found = false;
  for (const types::Step& step : type.plan.steps) {
    found = found || step.kind == UnitKind::sequence || step.kind == UnitKind::text ||
            step.kind == UnitKind::choice ||
            (step.kind == UnitKind::repeat && has_owned_fields(*step.type));
  }
  return found && type.contains_pointers;
}

// The sequence or text that begins at `field`; null: none does.
const Type* owning_field_at(const Block& block, const std::byte* field) {
  const auto offset_bytes = static_cast<std::size_t>(field - block.address);
  const Type* found = nullptr;
  types::for_each_row(
      types::array_step(*block.type, block.count), 0, block.count * block.type->units,
      [&](const UnitRow& row) {
        const std::size_t end_bytes = row.offset_bytes + row.count * row.stride_bytes;
        if (offset_bytes < row.offset_bytes) return false;
        if (offset_bytes >= end_bytes) return true;
        const bool is_owning = row.kind == UnitKind::sequence || row.kind == UnitKind::text;
        const bool is_exact = (offset_bytes - row.offset_bytes) % row.stride_bytes == 0;
        if (is_owning && is_exact) found = row.type;
        return false;
      });
  return found;
}

Result check_value(const Type& field, const void* source, std::uint64_t count) {
  if (field.count != 0 && count > field.count) {
    return {error_code::TOO_LARGE, std::to_string(count) + " values for a field of " +
                                       field.spelled() + ", whose bound is " +
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

// With the copy's mutex. What the block's fields own goes with it.
Result Copy::free_with_owned(const Block& block) {
  std::vector<void*> owned;
  for_each_owned(*block.type, block.count, block.address,
                 [&owned](void* value) { owned.push_back(value); });
  for (void* value : owned) {
    if (Result freed = free_owned(value); !freed) return freed;
  }
  return heap_->free(block.serial);
}

Result Copy::free_owned(void* value) {
  Block block;
  if (!heap_->find_at(value, block) || block.address != value || !block.is_owned) {
    return {error_code::BAD_POINTER,
            "a string or sequence field does not lead to a block of its own; such fields are "
            "changed by IW_assign only"};
  }
  return free_with_owned(block);
}

Result Copy::free(void* block) {
  const std::lock_guard lock(mutex_);
  Block found;
  if (!heap_->find_at(block, found) || found.address != block) {
    return {error_code::BAD_POINTER, "the address to free is not the beginning of a block of it"};
  }
  if (found.is_owned) {
    return {error_code::BAD_ARGUMENT,
            "the block belongs to a field; assign to the field or free its owner"};
  }
  return free_with_owned(found);
}

Result Copy::assign(void* field, const void* source, std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  Block owner;
  const Type* type = nullptr;
  if (heap_->find_at(field, owner)) type = owning_field_at(owner, static_cast<std::byte*>(field));
  if (type == nullptr) {
    return {error_code::BAD_POINTER,
            "the address is not that of a string or sequence field of the segment"};
  }
  if (Result good = check_value(*type, source, count); !good) return good;
  const bool is_text = type->kind == types::Kind::text;
  NativeSequence value{0, nullptr};
  std::memcpy(is_text ? static_cast<void*>(&value.elements) : &value, field, type->size_bytes);
  void* const old = value.elements;
  value = {static_cast<unsigned int>(count), nullptr};
  if (count > 0) {
    if (Result made = make_owned(*type, source, count, value.elements); !made) return made;
  }
  if (old != nullptr) {
    if (Result freed = free_owned(old); !freed) return freed;
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

}  // namespace iw::abi
