// The C symbols of interweave/type_table.h: the primitives' tables, and where generated code
// announces its own.
#include "interweave/type_table.h"
#include "types/registry.h"

namespace {

constexpr IW_type_def primitive_table(const char* name, int number, std::size_t size_bytes,
                                      std::size_t align_bytes) {
  IW_type_def table{};
  table.name = name;
  table.kind = IW_KIND_PRIMITIVE;
  table.primitive = number;
  table.size = size_bytes;
  table.align = align_bytes;
  return table;
}

}  // namespace

extern "C" {

constinit const IW_type_def IW_def_char = primitive_table("char", IW_PRIMITIVE_CHAR, 1, 1);
constinit const IW_type_def IW_def_uchar = primitive_table("uchar", IW_PRIMITIVE_UCHAR, 1, 1);
constinit const IW_type_def IW_def_short =
    primitive_table("short", IW_PRIMITIVE_SHORT, 2, IW_ALIGN_OF(short));
constinit const IW_type_def IW_def_ushort =
    primitive_table("ushort", IW_PRIMITIVE_USHORT, 2, IW_ALIGN_OF(short));
constinit const IW_type_def IW_def_int =
    primitive_table("int", IW_PRIMITIVE_INT, 4, IW_ALIGN_OF(int));
constinit const IW_type_def IW_def_uint =
    primitive_table("uint", IW_PRIMITIVE_UINT, 4, IW_ALIGN_OF(int));
constinit const IW_type_def IW_def_hyper =
    primitive_table("hyper", IW_PRIMITIVE_HYPER, 8, IW_ALIGN_OF(hyper));
constinit const IW_type_def IW_def_uhyper =
    primitive_table("uhyper", IW_PRIMITIVE_UHYPER, 8, IW_ALIGN_OF(hyper));
constinit const IW_type_def IW_def_float =
    primitive_table("float", IW_PRIMITIVE_FLOAT, 4, IW_ALIGN_OF(float));
constinit const IW_type_def IW_def_double =
    primitive_table("double", IW_PRIMITIVE_DOUBLE, 8, IW_ALIGN_OF(double));
constinit const IW_type_def IW_def_bool =
    primitive_table("bool", IW_PRIMITIVE_BOOL, 4, IW_ALIGN_OF(int));

const IW_type_t IW_char = &IW_def_char;
const IW_type_t IW_uchar = &IW_def_uchar;
const IW_type_t IW_short = &IW_def_short;
const IW_type_t IW_ushort = &IW_def_ushort;
const IW_type_t IW_int = &IW_def_int;
const IW_type_t IW_uint = &IW_def_uint;
const IW_type_t IW_hyper = &IW_def_hyper;
const IW_type_t IW_uhyper = &IW_def_uhyper;
const IW_type_t IW_float = &IW_def_float;
const IW_type_t IW_double = &IW_def_double;
const IW_type_t IW_bool = &IW_def_bool;

int IW_register_types(const IW_type_t* types, size_t count) {
  if (types == nullptr && count != 0) {
    return -static_cast<int>(iw::types::error_code::BAD_ARGUMENT);
  }
  const iw::types::Result added = iw::types::or_no_memory([&] {
    return iw::types::Registry::program().add({types, count});
  });
  return -static_cast<int>(added.code);
}

}  // extern "C"
