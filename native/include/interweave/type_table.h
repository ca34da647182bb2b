/*
 * type_table.h -- type descriptors as generated code hands them to the library.
 *
 * The XDR compiler turns each type of an .x file into a constant IW_type_def. Sizes and offsets are
 * left to the C compiler, so the generated text is the same for every machine. A generated file
 * registers its types when the program loads.
 *
 * A table that a program makes at run time may leave size, align and offsets 0. The type is then
 * laid out by the platform's C rules; IW_laid_out tells how. A program must neither change nor free
 * its descriptors. Their meaning is in spec/format/type-descriptor.md; the kinds and primitives
 * have the numbers of spec/protocol/descriptor.x.
 *
 * Plain C99, also read by C++. Include <interweave.h> in programs; this file is for generated code.
 */
#ifndef INTERWEAVE_TYPE_TABLE_H
#define INTERWEAVE_TYPE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#ifndef IW_API
#if defined(__GNUC__)
#define IW_API __attribute__((visibility("default")))
#else
#define IW_API
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* XDR's bool: 0 or 1, in four bytes in every language. */
typedef int32_t IW_bool_t;

typedef struct IW_type_def IW_type_def;

/* How a program names a type: the address of its descriptor. */
typedef const IW_type_def* IW_type_t;

/* IW_type_def.kind */
enum {
  IW_KIND_PRIMITIVE = 1,
  IW_KIND_ENUM = 2,
  IW_KIND_STRING = 3, /* string s<N>, N <= 4096: char[N + 1] */
  IW_KIND_ARRAY = 4,  /* T x[N] */
  IW_KIND_RECORD = 5,
  IW_KIND_UNION = 6,    /* struct { D d; union { ... } name_u; } */
  IW_KIND_POINTER = 7,  /* T * */
  IW_KIND_SEQUENCE = 8, /* T x<N>: IW_sequence_t, whose elements are an owned block */
  IW_KIND_TEXT = 9      /* string s<>, or N > 4096: char *, to an owned block */
};

/* IW_type_def.primitive */
enum {
  IW_PRIMITIVE_CHAR = 1,
  IW_PRIMITIVE_UCHAR = 2,
  IW_PRIMITIVE_SHORT = 3,
  IW_PRIMITIVE_USHORT = 4,
  IW_PRIMITIVE_INT = 5,
  IW_PRIMITIVE_UINT = 6,
  IW_PRIMITIVE_HYPER = 7,
  IW_PRIMITIVE_UHYPER = 8,
  IW_PRIMITIVE_FLOAT = 9,
  IW_PRIMITIVE_DOUBLE = 10,
  IW_PRIMITIVE_BOOL = 11
};

/* The layout in memory of every generated `struct { unsigned int x_len; T *x_val; }`. */
typedef struct IW_sequence {
  unsigned int len;
  void* val;
} IW_sequence_t;

typedef struct IW_enum_member {
  const char* name;
  int32_t value;
} IW_enum_member;

typedef struct IW_field_def {
  const char* name;
  IW_type_t type;
  size_t offset;
} IW_field_def;

/* One arm of a union. A void arm has type NULL, name "" and offset 0. If the discriminant is
 * unsigned, values of 2^31 and above are stored by their bits. The default arm has no values. */
typedef struct IW_arm_def {
  const char* name;
  IW_type_t type;
  size_t offset;
  const int32_t* values;
  size_t value_count;
} IW_arm_def;

/* A type. Members that do not apply to its kind are zero. */
struct IW_type_def {
  /* With namespaces (`geo::point`); "" for an anonymous type. */
  const char* name;
  int32_t kind;
  int32_t primitive; /* PRIMITIVE */
  size_t size;
  size_t align;
  /* The structure hash of the type of the same name that this one replaces, or 0. */
  uint64_t predecessor;
  /* ARRAY, SEQUENCE: the element. POINTER: the target, which may lead back to this type; NULL for
   * `void *`, which may point at any block. */
  IW_type_t element;
  /* ARRAY: elements, at least 1. STRING, SEQUENCE, TEXT: the bound; 0 if unbounded. */
  size_t count;
  /* RECORD: fields in order. UNION: one, the discriminant. */
  const IW_field_def* fields;
  size_t field_count;
  /* ENUM */
  const IW_enum_member* members;
  size_t member_count;
  /* UNION */
  const IW_arm_def* arms;
  size_t arm_count;
  const IW_arm_def* otherwise; /* the default arm, or NULL */
};

/* The primitive types. A program may see a copy of these descriptors at another address than the
 * library does, so the library recognises a primitive by its kind and number. */
extern IW_API const IW_type_def IW_def_char, IW_def_uchar, IW_def_short, IW_def_ushort, IW_def_int,
    IW_def_uint, IW_def_hyper, IW_def_uhyper, IW_def_float, IW_def_double, IW_def_bool;

/* The same, as programs name them: IW_malloc_array(h, IW_double, n, name). */
extern IW_API const IW_type_t IW_char, IW_uchar, IW_short, IW_ushort, IW_int, IW_uint, IW_hyper,
    IW_uhyper, IW_float, IW_double, IW_bool;

/*
 * Registers types with the library. Generated code calls this before main and from one thread, when
 * the program (or a library loaded later) loads. Types may refer to each other and to types that
 * are registered later, because references are followed only on first use. Returns 0, or a negative
 * IW_E... if some type cannot be accepted. That type stays unregistered, and using it fails with
 * the same error.
 */
IW_API int IW_register_types(const IW_type_t* types, size_t count);

/* Initialisers of IW_type_def, one for each kind. A table names only what matters for its kind, and
 * the macro initialises every member. */
#define IW_ENUM_DEF(name, members, member_count)                                        \
  {                                                                                     \
    name, IW_KIND_ENUM, 0, sizeof(int), IW_ALIGN_OF(int), 0, NULL, 0, NULL, 0, members, \
        member_count, NULL, 0, NULL                                                     \
  }
#define IW_STRING_DEF(name, bound) \
  IW_DERIVED_DEF(name, IW_KIND_STRING, (bound) + 1, IW_ALIGN_OF(char), NULL, bound)
#define IW_ARRAY_DEF(name, size, align, element, count) \
  IW_DERIVED_DEF(name, IW_KIND_ARRAY, size, align, element, count)
#define IW_RECORD_DEF(name, size, align, fields, field_count) \
  { name, IW_KIND_RECORD, 0, size, align, 0, NULL, 0, fields, field_count, NULL, 0, NULL, 0, NULL }
#define IW_UNION_DEF(name, size, align, discriminant, arms, arm_count, otherwise)               \
  {                                                                                             \
    name, IW_KIND_UNION, 0, size, align, 0, NULL, 0, discriminant, 1, NULL, 0, arms, arm_count, \
        otherwise                                                                               \
  }
#define IW_POINTER_DEF(name, target) \
  IW_DERIVED_DEF(name, IW_KIND_POINTER, sizeof(void*), IW_ALIGN_OF(pointer), target, 0)
#define IW_SEQUENCE_DEF(name, element, bound)                                                   \
  IW_DERIVED_DEF(name, IW_KIND_SEQUENCE, sizeof(IW_sequence_t), IW_ALIGN_OF(sequence), element, \
                 bound)
#define IW_TEXT_DEF(name, bound) \
  IW_DERIVED_DEF(name, IW_KIND_TEXT, sizeof(char*), IW_ALIGN_OF(pointer), NULL, bound)
#define IW_DERIVED_DEF(name, kind, size, align, element, count) \
  { name, kind, 0, size, align, 0, element, count, NULL, 0, NULL, 0, NULL, 0, NULL }

/* Alignment of a type inside a struct, in C99: declare the probe first. */
#define IW_ALIGN_PROBE(tag, type) \
  struct IW_align_##tag {         \
    char before;                  \
    type probed;                  \
  }
#define IW_ALIGN_OF(tag) offsetof(struct IW_align_##tag, probed)

IW_ALIGN_PROBE(char, char);
IW_ALIGN_PROBE(short, short);
IW_ALIGN_PROBE(int, int);
IW_ALIGN_PROBE(hyper, int64_t);
IW_ALIGN_PROBE(float, float);
IW_ALIGN_PROBE(double, double);
IW_ALIGN_PROBE(pointer, void*);
IW_ALIGN_PROBE(sequence, IW_sequence_t);

/* Does not compile where the sizes of the C types are not those of XDR. */
typedef char IW_check_types
    [sizeof(short) == 2 && sizeof(int) == 4 && sizeof(float) == 4 && sizeof(double) == 8 ? 1 : -1];

#ifdef __cplusplus
} /* extern "C" */

namespace iw {

/* The descriptor of a C++ type: generated headers specialise it for each struct, union and enum. */
template <typename T>
struct type_of;

} /* namespace iw */
#endif

#endif /* INTERWEAVE_TYPE_TABLE_H */
