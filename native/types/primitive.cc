#include <array>

#include "interweave/type_table.h"
#include "platform/invariant.h"
#include "types/construction.h"
#include "types/hash.h"
#include "types/type.h"

namespace iw::types {

namespace {

struct Shape {
  const char* name;
  std::size_t size_bytes;
  std::size_t align_bytes;
};

constexpr std::array<Shape, 11> kShapes = {{
    {"char", 1, 1},
    {"uchar", 1, 1},
    {"short", 2, IW_ALIGN_OF(short)},
    {"ushort", 2, IW_ALIGN_OF(short)},
    {"int", 4, IW_ALIGN_OF(int)},
    {"uint", 4, IW_ALIGN_OF(int)},
    {"hyper", 8, IW_ALIGN_OF(hyper)},
    {"uhyper", 8, IW_ALIGN_OF(hyper)},
    {"float", 4, IW_ALIGN_OF(float)},
    {"double", 8, IW_ALIGN_OF(double)},
    {"bool", 4, IW_ALIGN_OF(int)},
}};

std::array<Type, kShapes.size()> made() {
  std::array<Type, kShapes.size()> types;
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    Type& type = types[i];
    type.name = kShapes[i].name;
    type.kind = Kind::primitive;
    type.primitive = static_cast<Primitive>(i + 1);
    type.units = 1;
    type.slot_bytes = kShapes[i].size_bytes;
    type.size_bytes = kShapes[i].size_bytes;
    type.align_bytes = kShapes[i].align_bytes;
    Type* const group[] = {&type};
    IW_INVARIANT(hash_group(group), "a primitive has a hash");
    compile_plan(type);
  }
  return types;
}

}  // namespace

const Type& primitive_type(Primitive primitive) {
  static const std::array<Type, kShapes.size()> types = made();
  const auto number = static_cast<std::size_t>(primitive);
  IW_INVARIANT(number >= 1 && number <= types.size(), "callers check a primitive's number");
  return types[number - 1];
}

}  // namespace iw::types
