// A type in this program: its structure, its layout in memory here, its layout in wire format, and
// the translation plan between the two (spec/format/type-descriptor.md).
//
// A type is immutable once it is published: the Registry and SegmentTypes build whole groups of
// types and give out `const Type*`. Two types are the same type when name and hash agree
// (same_type). One type may be two objects: the program's, and that of a segment that was received
// first. All sizes and unit counts fit in 2^40 and in size_t [TYPE-2].
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "types/plan.h"

namespace iw::types {

enum class Kind : std::uint8_t {
  primitive = 1,
  enumeration = 2,
  string = 3,
  array = 4,
  record = 5,
  choice = 6,  // a union
  pointer = 7,
  sequence = 8,
  text = 9
};

enum class Primitive : std::uint8_t {
  none = 0,
  character = 1,
  uchar = 2,
  int16 = 3,
  uint16 = 4,
  int32 = 5,
  uint32 = 6,
  hyper = 7,
  uhyper = 8,
  float32 = 9,
  float64 = 10,
  boolean = 11
};

// What a sequence (`T x<>`) is in memory.
struct NativeSequence {
  unsigned int length;
  void* elements;
};

struct Field {
  std::string name;
  const Type* type = nullptr;
  std::size_t offset_bytes = 0;
  std::uint64_t first_unit = 0;
  std::uint64_t slot_offset_bytes = 0;
};

struct Member {
  std::string name;
  std::int32_t value = 0;
};

struct Arm {
  std::string name;
  const Type* type = nullptr;    // null: void
  std::size_t offset_bytes = 0;  // from the union's first byte
  std::vector<std::int32_t> values;
};

struct Type {
  std::string name;  // "" for an anonymous type
  Kind kind = Kind::primitive;
  Primitive primitive = Primitive::none;
  std::uint64_t hash = 0;
  std::uint64_t predecessor = 0;

  std::uint64_t units = 0;
  std::uint64_t slot_bytes = 0;
  std::size_t size_bytes = 0;
  std::size_t align_bytes = 1;
  bool contains_pointers = false;  // pointers, sequences or texts, also inside unions
  std::uint32_t depth = 0;         // of embedding; a primitive has 0

  const Type* element = nullptr;  // array, sequence
  const Type* target = nullptr;   // pointer; null is `void *`, which may point at any block
  std::uint64_t count = 0;        // array: elements; string, sequence, text: the bound (0: none)

  std::vector<Field> fields;    // record
  std::vector<Member> members;  // enumeration
  std::vector<std::int32_t> sorted_values;

  std::string discriminant_name;  // choice; the discriminant is at offset 0
  const Type* discriminant = nullptr;
  std::vector<Arm> arms;  // in order; the default arm is the last one if has_default
  bool has_default = false;
  std::vector<std::pair<std::int32_t, std::uint32_t>> sorted_cases;  // value and arm

  Plan plan;

  [[nodiscard]] bool has_member(std::int32_t value) const;
  // The arm that a discriminant selects; null if it selects none.
  [[nodiscard]] const Arm* arm_for(std::int32_t discriminant_value) const;
  // The same for a value that may travel: 0, because memory that was never written is zero
  // [WIRE-4], or one of the discriminant's type that selects an arm. False: it may not.
  [[nodiscard]] bool select_arm(std::int32_t discriminant_value, const Arm*& arm) const;
  // "node_t", "int[10]", "node_t *": for messages.
  [[nodiscard]] std::string spelled() const;
};

inline constexpr std::uint64_t kMaxUnits = std::uint64_t{1} << 40;
inline constexpr std::uint32_t kMaxDepth = 64;

// Name and structure agree.
inline bool same_type(const Type& a, const Type& b) {
  return &a == &b || (a.hash == b.hash && a.name == b.name);
}
// Same type, and also laid out alike in memory, in every part embedded in it.
bool same_layout(const Type& a, const Type& b);

// The eleven types that every program and segment has.
const Type& primitive_type(Primitive primitive);

}  // namespace iw::types
