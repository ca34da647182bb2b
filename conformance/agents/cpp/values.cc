#include "values.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <vector>

namespace agent {

namespace {

constexpr std::uint64_t exact_end = std::uint64_t{1} << 53;  // as spec/vectors has it

template <typename T>
T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <typename T>
void store(char* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

bool is_bytes(IW_type_t element) {
  return element->kind == IW_KIND_PRIMITIVE && element->primitive == IW_PRIMITIVE_UCHAR;
}

std::size_t units_of(IW_type_t type) {
  if (type->kind == IW_KIND_ARRAY) return type->count * units_of(type->element);
  if (type->kind != IW_KIND_RECORD) return 1;
  std::size_t units = 0;
  for (std::size_t i = 0; i < type->field_count; ++i) units += units_of(type->fields[i].type);
  return units;
}

// Items of a list of units: an array of uchar is one text.
std::size_t items_of(IW_type_t type) {
  if (type->kind == IW_KIND_ARRAY) {
    return is_bytes(type->element) ? 1 : type->count * items_of(type->element);
  }
  if (type->kind != IW_KIND_RECORD) return 1;
  std::size_t items = 0;
  for (std::size_t i = 0; i < type->field_count; ++i) items += items_of(type->fields[i].type);
  return items;
}

// Null for a void arm; false if the discriminant selects none.
bool active_arm(const Unit& unit, const IW_arm_def*& arm) {
  const auto value = load<std::int32_t>(unit.at + unit.type->fields[0].offset);
  for (std::size_t i = 0; i < unit.type->arm_count; ++i) {
    arm = &unit.type->arms[i];
    for (std::size_t v = 0; v < arm->value_count; ++v) {
      if (arm->values[v] == value) return true;
    }
  }
  arm = unit.type->otherwise;
  return arm != nullptr;
}

// ---- To text ----

std::string signed_text(std::int64_t value) {
  const auto size =
      value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
  const std::string text = std::to_string(value);
  return size < exact_end ? text : quoted(text);
}

std::string unsigned_text(std::uint64_t value) {
  const std::string text = std::to_string(value);
  return value < exact_end ? text : quoted(text);
}

std::string bits_text(std::uint64_t bits, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "\"0x%0*" PRIx64 "\"", digits, bits);
  return text;
}

std::string hex_text(const char* bytes, std::size_t count) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text = "\"";
  for (std::size_t i = 0; i < count; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    text.append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
  }
  return text.append(1, '"');
}

std::string primitive_text(int primitive, const char* at) {
  switch (primitive) {
    case IW_PRIMITIVE_CHAR:
    case IW_PRIMITIVE_UCHAR:
      return unsigned_text(load<std::uint8_t>(at));
    case IW_PRIMITIVE_SHORT:
      return signed_text(load<std::int16_t>(at));
    case IW_PRIMITIVE_USHORT:
      return unsigned_text(load<std::uint16_t>(at));
    case IW_PRIMITIVE_UINT:
      return unsigned_text(load<std::uint32_t>(at));
    case IW_PRIMITIVE_HYPER:
      return signed_text(load<std::int64_t>(at));
    case IW_PRIMITIVE_UHYPER:
      return unsigned_text(load<std::uint64_t>(at));
    case IW_PRIMITIVE_FLOAT:
      return bits_text(load<std::uint32_t>(at), 8);
    case IW_PRIMITIVE_DOUBLE:
      return bits_text(load<std::uint64_t>(at), 16);
    default:
      return signed_text(load<std::int32_t>(at));  // int, bool
  }
}

std::string pointer_text(const char* at) {
  const void* const target = load<const void*>(at);
  if (target == nullptr) return "null";
  const IW_mip_t mip = IW_ptr_to_mip(target);
  if (mip == nullptr) return "\"dangling\"";
  std::string text = quoted(mip);
  IW_mip_free(mip);
  return text;
}

void add_item(std::string& list, const std::string& item) {
  if (list.back() != '[') list += ',';
  list += item;
}

void add_units(std::string& list, IW_type_t type, char* at) {
  if (type->kind == IW_KIND_ARRAY) {
    if (is_bytes(type->element)) return add_item(list, hex_text(at, type->count));
    for (std::size_t i = 0; i < type->count; ++i) {
      add_units(list, type->element, at + i * type->element->size);
    }
  } else if (type->kind == IW_KIND_RECORD) {
    for (std::size_t i = 0; i < type->field_count; ++i) {
      add_units(list, type->fields[i].type, at + type->fields[i].offset);
    }
  } else {
    add_item(list, show({type, at}));
  }
}

std::string union_text(const Unit& unit) {
  const IW_arm_def* arm = nullptr;
  const bool known = active_arm(unit, arm);
  std::string list = "[";
  if (known && arm->type != nullptr) add_units(list, arm->type, unit.at + arm->offset);
  const IW_field_def& on = unit.type->fields[0];
  return "{\"case\":" + show({on.type, unit.at + on.offset}) + ",\"units\":" + list + "]}";
}

// ---- From text ----

[[noreturn]] void bad_value(const Json& value, const char* wanted) {
  throw BadCommand("'" + value.text + "' is not " + wanted);
}

std::uint64_t bits_of(const Json& value) {
  if (value.text.compare(0, 2, "0x") != 0) bad_value(value, "a bit pattern 0x...");
  return std::stoull(value.text.substr(2), nullptr, 16);
}

// A negative number as its two's complement.
std::uint64_t integer_of(const Json& value) {
  if (value.text.empty()) bad_value(value, "an integer");
  return value.text[0] == '-' ? static_cast<std::uint64_t>(std::stoll(value.text))
                              : std::stoull(value.text);
}

void put_primitive(int primitive, char* at, const Json& value) {
  switch (primitive) {
    case IW_PRIMITIVE_CHAR:
    case IW_PRIMITIVE_UCHAR:
      return store(at, static_cast<std::uint8_t>(integer_of(value)));
    case IW_PRIMITIVE_SHORT:
    case IW_PRIMITIVE_USHORT:
      return store(at, static_cast<std::uint16_t>(integer_of(value)));
    case IW_PRIMITIVE_HYPER:
    case IW_PRIMITIVE_UHYPER:
      return store(at, integer_of(value));
    case IW_PRIMITIVE_FLOAT:
      return store(at, static_cast<std::uint32_t>(bits_of(value)));
    case IW_PRIMITIVE_DOUBLE:
      return store(at, bits_of(value));
    default:
      return store(at, static_cast<std::uint32_t>(integer_of(value)));  // int, uint, bool
  }
}

std::vector<char> bytes_of(const Json& value) {
  std::vector<char> bytes;
  if (value.text.size() % 2 != 0) bad_value(value, "hexadecimal");
  for (std::size_t i = 0; i < value.text.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(value.text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

// Leaves the bytes behind the NUL, because no other program sees them [WIRE-2].
void put_string(const Unit& unit, const Json& value) {
  if (value.text.size() > unit.type->count) bad_value(value, "within the string's bound");
  std::memcpy(unit.at, value.text.c_str(), value.text.size() + 1);
}

void put_pointer(char* at, const Json& value) {
  void* target = nullptr;
  if (!value.is(Json::Kind::null)) {
    target = IW_mip_to_ptr(value.text.c_str());
    if (target == nullptr) throw LibraryFailed{};
  }
  store(at, target);
}

void put_units(IW_handle_t segment, IW_type_t type, char* at, const std::vector<Json>& items,
               std::size_t& next) {
  if (type->kind == IW_KIND_RECORD) {
    for (std::size_t i = 0; i < type->field_count; ++i) {
      put_units(segment, type->fields[i].type, at + type->fields[i].offset, items, next);
    }
    return;
  }
  if (type->kind == IW_KIND_ARRAY && !is_bytes(type->element)) {
    for (std::size_t i = 0; i < type->count; ++i) {
      put_units(segment, type->element, at + i * type->element->size, items, next);
    }
    return;
  }
  if (next >= items.size()) throw BadCommand("the list of units is too short");
  const Json& item = items[next++];
  if (type->kind != IW_KIND_ARRAY) return put(segment, {type, at}, item);
  const std::vector<char> bytes = bytes_of(item);
  if (bytes.size() != type->count) bad_value(item, "of the array's length");
  std::memcpy(at, bytes.data(), bytes.size());
}

void assign(IW_handle_t segment, char* at, const void* source, std::size_t count) {
  if (IW_assign(segment, at, source, count) != 0) throw LibraryFailed{};
}

void put_sequence(IW_handle_t segment, const Unit& unit, const Json& value) {
  const IW_type_t element = unit.type->element;
  if (is_bytes(element)) {
    const std::vector<char> bytes = bytes_of(value);
    return assign(segment, unit.at, bytes.data(), bytes.size());
  }
  const std::size_t count = value.items.size() / items_of(element);
  assign(segment, unit.at, nullptr, count);  // zeros
  auto* const elements = static_cast<char*>(load<IW_sequence_t>(unit.at).val);
  std::size_t next = 0;
  for (std::size_t i = 0; i < count; ++i) {
    put_units(segment, element, elements + i * element->size, value.items, next);
  }
}

void put_union(IW_handle_t segment, const Unit& unit, const Json& value) {
  const Json* const which = value.find("case");
  const Json* const units = value.find("units");
  if (which == nullptr || units == nullptr) bad_value(value, "a union's value");
  std::memset(unit.at, 0, unit.type->size);
  const IW_field_def& on = unit.type->fields[0];
  put(segment, {on.type, unit.at + on.offset}, *which);
  const IW_arm_def* arm = nullptr;
  if (!active_arm(unit, arm) || arm->type == nullptr) return;
  std::size_t next = 0;
  put_units(segment, arm->type, unit.at + arm->offset, units->items, next);
}

}  // namespace

Unit find_unit(const Values& values, std::size_t offset) {
  IW_type_t type = values.type;
  std::size_t units = units_of(type);
  if (offset >= units * values.count) throw BadCommand("the value has no such unit");
  char* at = values.at + offset / units * type->size;
  offset %= units;
  while (type->kind == IW_KIND_ARRAY || type->kind == IW_KIND_RECORD) {
    if (type->kind == IW_KIND_ARRAY) {
      type = type->element;
      units = units_of(type);
      at += offset / units * type->size;
      offset %= units;
      continue;
    }
    const IW_field_def* field = type->fields;
    for (; offset >= units_of(field->type); ++field) offset -= units_of(field->type);
    at += field->offset;
    type = field->type;
  }
  return {type, at};
}

Values held_by(const Unit& unit) {
  if (unit.type->kind == IW_KIND_SEQUENCE) {
    const auto held = load<IW_sequence_t>(unit.at);
    return {unit.type->element, held.len, static_cast<char*>(held.val)};
  }
  if (unit.type->kind == IW_KIND_TEXT) {
    auto* const held = load<char*>(unit.at);
    return {IW_char, held == nullptr ? 0 : std::strlen(held), held};
  }
  const IW_arm_def* arm = nullptr;
  if (unit.type->kind != IW_KIND_UNION || !active_arm(unit, arm) || arm->type == nullptr) {
    throw BadCommand("the unit holds no others");
  }
  return {arm->type, 1, unit.at + arm->offset};
}

std::string show(const Unit& unit) {
  switch (unit.type->kind) {
    case IW_KIND_PRIMITIVE:
      return primitive_text(unit.type->primitive, unit.at);
    case IW_KIND_ENUM:
      return primitive_text(IW_PRIMITIVE_INT, unit.at);
    case IW_KIND_STRING:
      return quoted(unit.at);
    case IW_KIND_POINTER:
      return pointer_text(unit.at);
    case IW_KIND_UNION:
      return union_text(unit);
    case IW_KIND_TEXT: {
      const Values held = held_by(unit);
      return quoted({held.at, held.count});
    }
    default: {
      const Values held = held_by(unit);
      return is_bytes(held.type) ? hex_text(held.at, held.count) : show_units(held);
    }
  }
}

std::string show_units(const Values& values) {
  std::string list = "[";
  for (std::size_t i = 0; i < values.count; ++i) {
    add_units(list, values.type, values.at + i * values.type->size);
  }
  return list + "]";
}

void put(IW_handle_t segment, const Unit& unit, const Json& value) {
  switch (unit.type->kind) {
    case IW_KIND_PRIMITIVE:
      return put_primitive(unit.type->primitive, unit.at, value);
    case IW_KIND_ENUM:
      return put_primitive(IW_PRIMITIVE_INT, unit.at, value);
    case IW_KIND_STRING:
      return put_string(unit, value);
    case IW_KIND_POINTER:
      return put_pointer(unit.at, value);
    case IW_KIND_UNION:
      return put_union(segment, unit, value);
    case IW_KIND_TEXT:
      return assign(segment, unit.at, value.text.data(), value.text.size());
    default:
      return put_sequence(segment, unit, value);
  }
}

}  // namespace agent
