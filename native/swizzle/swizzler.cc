#include "swizzle/swizzler.h"

#include <algorithm>
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

// Descends from an array to its elements, to the first type that is `wanted` or not an array.
const types::Type& element_in(const types::Type& type, const types::Type& wanted) {
  const types::Type* at = &type;
  while (at->kind == types::Kind::array && !types::same_type(*at, wanted)) at = at->element;
  return *at;
}

// The unit at an offset of a block, where the target type must be found.
Result unit_at(const memory::Block& block, std::size_t offset_bytes, const types::Type* target,
               std::uint64_t& out) {
  if (target == nullptr && offset_bytes == 0) {
    out = 0;
    return {};
  }
  if (target != nullptr) {
    const types::Type& element = element_in(*block.type, *target);
    if (types::same_type(element, *target)) {
      if (offset_bytes == 0) {
        out = 0;
        return {};
      }
      if (offset_bytes < block.size_bytes && offset_bytes % element.size_bytes == 0) {
        out = offset_bytes / element.size_bytes * element.units;
        return {};
      }
    }
  }
  const types::UnitAt at = types::unit_of_byte(*block.type, block.count, offset_bytes);
  if (!at.exact) {
    return bad_pointer("a pointer leads to " + place_of(block, offset_bytes) +
                       ", where no unit begins (strings and unions are one unit each); point at a "
                       "unit's first byte");
  }
  if (target != nullptr && !types::begins_at_unit(*block.type, block.count, at.unit, *target)) {
    return bad_pointer("a pointer to " + target->spelled() + " leads to " +
                       place_of(block, offset_bytes) + ", where no value of this type begins");
  }
  out = at.unit;
  return {};
}

}  // namespace

Result Swizzler::to_wire(const void* address, const types::Type* target, WirePointer& out) {
  std::size_t done = 0;
  return to_wire(std::span(&address, 1), target, &out, done);
}

Result Swizzler::to_wire(std::span<const void* const> addresses, const types::Type* target,
                         WirePointer* out, std::size_t& done) {
  memory::find_blocks(addresses, addresses_, found_.data());
  for (done = 0; done < addresses.size(); ++done) {
    const void* const address = addresses[done];
    if (address == nullptr) {
      out[done] = {};
      continue;
    }
    Result result = found_[done].block.serial != 0 ? found_to_wire(found_[done], target, out[done])
                                                   : stub_to_wire(address, out[done]);
    if (!result) return result;
  }
  return {};
}

Result Swizzler::found_to_wire(const memory::FoundBlock& found, const types::Type* target,
                               WirePointer& out) {
  if (found.heap_number == own_.number()) {
    out.slot = 0;
  } else if (found.heap_number == last_heap_) {
    out.slot = last_slot_;
  } else {
    if (Result bad = slot_of_found(found, out.slot); !bad) return bad;
    last_heap_ = found.heap_number;
    last_slot_ = out.slot;
  }
  out.serial = found.block.serial;
  return unit_at(found.block, found.offset_bytes, target, out.unit);
}

// Converts an address that does not lead to a block: a stub, or a mistake of the program.
Result Swizzler::stub_to_wire(const void* address, WirePointer& out) {
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
  std::size_t done = 0;
  out = nullptr;
  return from_wire(std::span(&pointer, 1), target, &out, done);
}

Result Swizzler::from_wire(std::span<const WirePointer> pointers, const types::Type* target,
                           void** out, std::size_t& done) {
  for (done = 0; done < pointers.size();) {
    // One heap's blocks together.
    const std::uint16_t slot = pointers[done].slot;
    std::array<std::uint64_t, kMostTogether> serials;
    std::size_t count = 0;
    for (std::size_t i = done; i < pointers.size() && pointers[i].slot == slot; ++i) {
      if (!has_meaning(pointers[i])) break;
      serials[count++] = pointers[i].serial;
    }
    if (count == 0) {
      const WirePointer& bad = pointers[done];
      return bad_pointer("the pointer slot " + std::to_string(bad.slot) + ", block " +
                         std::to_string(bad.serial) + ", unit " + std::to_string(bad.unit) +
                         " has no meaning: the segment has " + std::to_string(slots_.size()) +
                         " slots, and blocks begin at 1");
    }
    find_in_slot(slot, std::span(serials.data(), count), blocks_.data());
    for (std::size_t i = 0; i < count; ++i, ++done) {
      if (Result bad = address_in(blocks_[i], pointers[done], target, out[done]); !bad) return bad;
    }
  }
  return {};
}

bool Swizzler::has_meaning(const WirePointer& pointer) const {
  if (pointer.is_null()) return true;
  return pointer.serial != 0 && (pointer.slot == 0 || slots_.url_of(pointer.slot) != nullptr);
}

void Swizzler::find_in_slot(std::uint16_t slot, std::span<const std::uint64_t> serials,
                            memory::Block* out) {
  memory::Heap* heap = &own_;
  if (slot != 0) {
    auto known = heap_of_slot_.find(slot);
    if (known == heap_of_slot_.end()) {
      const types::Url& url = *slots_.url_of(slot);
      heap = url == slots_.segment() ? &own_ : resolver_.find(url);
      known = heap_of_slot_.emplace(slot, heap).first;
    }
    heap = known->second;
  }
  if (heap == nullptr) {
    std::fill_n(out, serials.size(), memory::Block{});
  } else {
    heap->find(serials, serials_, out);
  }
}

// `block`: what its serial was found to be, or none.
Result Swizzler::address_in(const memory::Block& block, const WirePointer& pointer,
                            const types::Type* target, void*& out) {
  out = nullptr;
  if (pointer.is_null()) return {};
  if (block.serial == 0) return stub(pointer, why_missing(pointer.slot), out);
  const types::Type& type = *block.type;
  if (pointer.unit > block.count * type.units) return stub(pointer, StubReason::beyond_end, out);
  if (target != nullptr) {
    const types::Type& element = element_in(type, *target);
    if (types::same_type(element, *target)) {
      if (pointer.unit == 0) {
        out = block.address;
        return {};
      }
      if (pointer.unit < block.count * type.units && pointer.unit % element.units == 0) {
        out = block.address +
              static_cast<std::size_t>(pointer.unit / element.units) * element.size_bytes;
        return {};
      }
    }
    if (!types::begins_at_unit(type, block.count, pointer.unit, *target)) {
      return stub(pointer, StubReason::wrong_type, out);
    }
  }
  const bool is_start = pointer.unit == 0;
  out = block.address + (is_start ? 0 : types::byte_of_unit(type, block.count, pointer.unit));
  return {};
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
                       ", which is not memory of that field; use IW_assign");
  }
  if (count != any_count && count != block.count) {
    return {error_code::BAD_VALUE, "a sequence's length is " + std::to_string(count) +
                                       ", but its memory holds " + std::to_string(block.count) +
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
