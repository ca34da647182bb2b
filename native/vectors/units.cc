#include "vectors/units.h"

#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>

#include "swizzle/wire_pointer.h"
#include "vectors/show.h"

namespace iw::vectors {
namespace {

using types::Kind;
using types::Primitive;
using types::Type;

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

void append_little_endian(std::uint64_t value, std::size_t bytes, Units& out) {
  for (std::size_t i = 0; i < bytes; ++i) {
    out.slots.push_back(static_cast<std::byte>(value >> (8 * i) & 0xFF));
  }
}

template <typename T>
void number(const std::byte* from, Units& out) {
  const T value = load<T>(from);
  if constexpr (std::is_same_v<T, float>) {
    append_little_endian(std::bit_cast<std::uint32_t>(value), 4, out);
    out.values.push_back(show(value));
  } else if constexpr (std::is_same_v<T, double>) {
    append_little_endian(std::bit_cast<std::uint64_t>(value), 8, out);
    out.values.push_back(show(value));
  } else {
    append_little_endian(static_cast<std::uint64_t>(value), sizeof value, out);
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    out.values.push_back(show(static_cast<Wide>(value)));
  }
}

void primitive(Primitive kind, const std::byte* from, Units& out) {
  switch (kind) {
    case Primitive::character:
      return number<std::int8_t>(from, out);
    case Primitive::uchar:
      return number<std::uint8_t>(from, out);
    case Primitive::int16:
      return number<std::int16_t>(from, out);
    case Primitive::uint16:
      return number<std::uint16_t>(from, out);
    case Primitive::int32:
      return number<std::int32_t>(from, out);
    case Primitive::uint32:
      return number<std::uint32_t>(from, out);
    case Primitive::hyper:
      return number<std::int64_t>(from, out);
    case Primitive::uhyper:
      return number<std::uint64_t>(from, out);
    case Primitive::float32:
      return number<float>(from, out);
    case Primitive::float64:
      return number<double>(from, out);
    case Primitive::boolean:
      number<std::uint32_t>(from, out);
      out.values.back() = show(load<std::uint32_t>(from) != 0);
      return;
    case Primitive::none:
      break;
  }
}

void string(const Type& type, const std::byte* from, Units& out) {
  std::string text;
  for (std::size_t i = 0; i < type.count; ++i) {
    const auto byte = std::to_integer<unsigned char>(from[i]);
    out.slots.push_back(from[i]);
    if (byte >= 0x80) {
      text.push_back(static_cast<char>(0xC0 | byte >> 6));
      text.push_back(static_cast<char>(0x80 | (byte & 0x3F)));
    } else if (byte != 0) {
      text.push_back(static_cast<char>(byte));
    }
  }
  out.values.push_back(Json::string(text));
}

void choice(const Type& type, const std::byte* from, swizzle::Swizzler& swizzler, Units& out) {
  const auto value = load<std::int32_t>(from);
  const std::size_t end = out.slots.size() + type.slot_bytes;
  append_little_endian(static_cast<std::uint32_t>(value), 4, out);
  Units arm_units;
  const types::Arm* const arm = type.arm_for(value);
  if (arm != nullptr && arm->type != nullptr) {
    read_units(*arm->type, from + arm->offset_bytes, swizzler, arm_units);
  }
  out.slots.insert(out.slots.end(), arm_units.slots.begin(), arm_units.slots.end());
  out.slots.resize(end);
  out.values.push_back(
      Json::object({{"case", show(value)}, {"units", Json::array(std::move(arm_units.values))}}));
}

void pointer(const Type& type, const std::byte* from, swizzle::Swizzler& swizzler, Units& out) {
  swizzle::WirePointer wire;
  types::Result result;
  if (type.kind == Kind::pointer) {
    result = swizzler.to_wire(load<const void*>(from), type.target, wire);
  } else if (type.kind == Kind::sequence) {
    const auto native = load<types::NativeSequence>(from);
    result = swizzler.owned_to_wire(native.elements, *type.element, native.length, wire);
  } else {
    result =
        swizzler.owned_to_wire(load<const void*>(from), types::primitive_type(Primitive::character),
                               swizzle::Swizzler::any_count, wire);
  }
  if (!result.ok()) {
    out.values.push_back(Json::string(result.text));
    wire = {};
  } else {
    out.values.push_back(show_pointer(wire));
  }
  std::byte slot[swizzle::kWirePointerBytes];
  swizzle::store_wire_pointer(wire, slot);
  out.slots.insert(out.slots.end(), slot, slot + sizeof slot);
}

}  // namespace

Json show_pointer(const swizzle::WirePointer& pointer) {
  if (pointer.is_null()) return {};
  return Json::array({show(std::uint64_t{pointer.slot}), show(pointer.serial), show(pointer.unit)});
}

void read_units(const Type& type, const std::byte* from, swizzle::Swizzler& swizzler, Units& out) {
  switch (type.kind) {
    case Kind::primitive:
      return primitive(type.primitive, from, out);
    case Kind::enumeration:
      return number<std::int32_t>(from, out);
    case Kind::string:
      return string(type, from, out);
    case Kind::array:
      for (std::uint64_t i = 0; i < type.count; ++i) {
        read_units(*type.element, from + i * type.element->size_bytes, swizzler, out);
      }
      return;
    case Kind::record:
      for (const types::Field& field : type.fields) {
        read_units(*field.type, from + field.offset_bytes, swizzler, out);
      }
      return;
    case Kind::choice:
      return choice(type, from, swizzler, out);
    case Kind::pointer:
    case Kind::sequence:
    case Kind::text:
      return pointer(type, from, swizzler, out);
  }
}

}  // namespace iw::vectors
