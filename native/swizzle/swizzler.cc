#include "swizzle/swizzler.h"

#include <array>
#include <charconv>
#include <string>

#include "types/navigation.h"

namespace iw::swizzle {

using types::error_code;

namespace {

std::string spelled(const void* address) {
  std::array<char, 20> digits{};
  const auto end =
      std::to_chars(digits.begin(), digits.end(), reinterpret_cast<std::uintptr_t>(address), 16);
  return "0x" + std::string(digits.begin(), end.ptr);
}

std::string place_of(const memory::Block& block, std::size_t offset_bytes) {
  return "byte " + std::to_string(offset_bytes) + " of block " + std::to_string(block.serial) +
         " (" + std::to_string(block.count) + " " + block.type->spelled() + ")";
}

Result bad_pointer(std::string text) { return {error_code::BAD_POINTER, std::move(text)}; }

// The unit at an offset of a block, where the target type must be found.
Result unit_at(const memory::Block& block, std::size_t offset_bytes, const types::Type* target,
               std::uint64_t& out) {
  const bool is_start = offset_bytes == 0;
  if (is_start && (target == nullptr || types::same_type(*block.type, *target))) {
    out = 0;
    return {};
  }
  const types::UnitAt at = types::unit_of_byte(*block.type, block.count, offset_bytes);
  if (!at.exact) {
    return bad_pointer("a pointer leads to " + place_of(block, offset_bytes) +
                       ", where no unit begins");
  }
  if (target != nullptr && !types::begins_at_unit(*block.type, block.count, at.unit, *target)) {
    return bad_pointer("a pointer to " + target->spelled() + " leads to " +
                       place_of(block, offset_bytes) + ", where there is none");
  }
  out = at.unit;
  return {};
}

}  // namespace

Result Swizzler::to_wire(const void* address, const types::Type* target, WirePointer& out) {
  if (address == nullptr) {
    out = {};
    return {};
  }
  const auto* at = static_cast<const std::byte*>(address);
  if (last_own_.serial == 0 || !last_own_.covers(at)) {
    memory::Block found;
    if (!own_.find_at(address, found)) return other_to_wire(address, target, out);
    last_own_ = found;
  }
  out.slot = 0;
  out.serial = last_own_.serial;
  return unit_at(last_own_, static_cast<std::size_t>(at - last_own_.address), target, out.unit);
}

Result Swizzler::other_to_wire(const void* address, const types::Type* target, WirePointer& out) {
  const auto* at = static_cast<const std::byte*>(address);
  if (last_other_slot_ == 0 || !last_other_.block.covers(at)) {
    memory::FoundBlock found;
    if (!memory::find_block(address, found)) {
      StubTarget stub;
      if (!stubs_.find(address, stub)) {
        return bad_pointer("the pointer " + spelled(address) +
                           " leads to no block of any segment; only memory of segments can be "
                           "pointed at from a segment");
      }
      out.serial = stub.serial;
      out.unit = stub.unit;
      return slot_of_url(stub.url, out.slot);
    }
    std::uint16_t slot = 0;
    if (Result bad = slot_of_found(found, slot); !bad) return bad;
    last_other_ = found;
    last_other_slot_ = slot;
  }
  out.slot = last_other_slot_;
  out.serial = last_other_.block.serial;
  return unit_at(last_other_.block, static_cast<std::size_t>(at - last_other_.block.address),
                 target, out.unit);
}

Result Swizzler::slot_of_found(const memory::FoundBlock& found, std::uint16_t& out) {
  if (auto known = slot_of_heap_.find(found.heap_number); known != slot_of_heap_.end()) {
    out = known->second;
    return {};
  }
  types::Url url;
  if (!memory::find_segment(found.block.address, url)) {
    return bad_pointer("a pointer leads into a segment that was closed just now");
  }
  if (Result bad = slot_of_url(url, out); !bad) return bad;
  slot_of_heap_[found.heap_number] = out;
  return {};
}

Result Swizzler::slot_of_url(const types::Url& url, std::uint16_t& out) {
  if (url == slots_.segment()) {
    out = 0;
    return {};
  }
  return slots_.slot_for(url, out);
}

Result Swizzler::from_wire(const WirePointer& pointer, const types::Type* target, void*& out) {
  out = nullptr;
  if (pointer.is_null()) return {};
  if (pointer.serial == 0 || (pointer.slot != 0 && slots_.url_of(pointer.slot) == nullptr)) {
    return bad_pointer("the pointer slot " + std::to_string(pointer.slot) + ", block " +
                       std::to_string(pointer.serial) + ", unit " + std::to_string(pointer.unit) +
                       " has no meaning: the segment has " + std::to_string(slots_.size()) +
                       " slots, and blocks begin at 1");
  }
  memory::Block* block = pointer.slot == 0 ? &last_own_ : &last_in_slot_;
  if (block->serial != pointer.serial || (pointer.slot != 0 && pointer.slot != last_slot_)) {
    memory::Block found;
    if (!block_in_slot(pointer, found)) {
      return stub(pointer, why_missing(pointer.slot), out);
    }
    *block = found;
    if (pointer.slot != 0) last_slot_ = pointer.slot;
  }
  const types::Type& type = *block->type;
  if (pointer.unit > block->count * type.units) return stub(pointer, StubReason::beyond_end, out);
  const bool is_start = pointer.unit == 0;
  if (target != nullptr && !(is_start && types::same_type(type, *target)) &&
      !types::begins_at_unit(type, block->count, pointer.unit, *target)) {
    return stub(pointer, StubReason::wrong_type, out);
  }
  out = block->address + (is_start ? 0 : types::byte_of_unit(type, block->count, pointer.unit));
  return {};
}

bool Swizzler::block_in_slot(const WirePointer& pointer, memory::Block& out) {
  if (pointer.slot == 0) return own_.find(pointer.serial, out);
  auto known = heap_of_slot_.find(pointer.slot);
  if (known == heap_of_slot_.end()) {
    const types::Url& url = *slots_.url_of(pointer.slot);
    memory::Heap* heap = url == slots_.segment() ? &own_ : resolver_.find(url);
    known = heap_of_slot_.emplace(pointer.slot, heap).first;
  }
  return known->second != nullptr && known->second->find(pointer.serial, out);
}

StubReason Swizzler::why_missing(std::uint16_t slot) {
  const bool is_own = slot == 0 || *slots_.url_of(slot) == slots_.segment();
  return is_own ? StubReason::no_block : resolver_.why_missing(*slots_.url_of(slot));
}

Result Swizzler::stub(const WirePointer& pointer, StubReason reason, void*& out) {
  const types::Url& url = pointer.slot == 0 ? slots_.segment() : *slots_.url_of(pointer.slot);
  return stubs_.stub_for(url, pointer.serial, pointer.unit, reason, out);
}

Result Swizzler::owned_to_wire(const void* address, const types::Type& element, std::uint64_t count,
                               WirePointer& out) {
  out = {};
  if (address == nullptr) {
    if (count == 0 || count == any_count) return {};
    return {error_code::BAD_VALUE, "a sequence without elements has length " +
                                       std::to_string(count) + ", not 0; use IW_assign"};
  }
  memory::Block block;
  if (!own_.find_at(address, block) || block.address != address || !block.is_owned ||
      !types::same_type(*block.type, element)) {
    return bad_pointer("a sequence or text field leads to " + spelled(address) +
                       ", which is no memory that belongs to it; use IW_assign");
  }
  if (count != any_count && count != block.count) {
    return {error_code::BAD_VALUE, "a sequence's length is " + std::to_string(count) +
                                       ", and it has " + std::to_string(block.count) +
                                       " elements; use IW_assign"};
  }
  out.serial = block.serial;
  return {};
}

Result Swizzler::owned_from_wire(const WirePointer& pointer, const types::Type& element, void*& out,
                                 std::uint64_t& count) {
  out = nullptr;
  count = 0;
  if (pointer.is_null()) return {};
  memory::Block block;
  if (pointer.slot != 0 || pointer.unit != 0 || !own_.find(pointer.serial, block) ||
      !block.is_owned || !types::same_type(*block.type, element)) {
    return bad_pointer("a sequence or text field leads to block " + std::to_string(pointer.serial) +
                       ", which does not belong to one of " + element.spelled());
  }
  out = block.address;
  count = block.count;
  return {};
}

}  // namespace iw::swizzle
