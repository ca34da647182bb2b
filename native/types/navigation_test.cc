#include "types/navigation.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "types/registry.h"
#include "types/sample_types.h"

namespace iw::types {
namespace {

using namespace samples;

const Type& made(IW_type_t table) {
  Result why;
  EXPECT_TRUE(Registry::program().add(std::span(&table, 1)).ok());
  const Type* const type = Registry::program().find(table, why);
  EXPECT_NE(type, nullptr) << why.text;
  return *type;
}

TEST(Navigation, OffsetsOfFieldsAreThoseOfTheCompiler) {
  const Type& type = made(IW_everything);
  for (const Field& field : type.fields) {
    EXPECT_EQ(byte_of_unit(type, 1, field.first_unit), field.offset_bytes) << field.name;
    EXPECT_EQ(unit_of_byte(type, 1, field.offset_bytes).unit, field.first_unit) << field.name;
    EXPECT_TRUE(unit_of_byte(type, 1, field.offset_bytes).exact) << field.name;
  }
  const std::size_t third = 3 * sizeof(everything);
  EXPECT_EQ(byte_of_unit(type, 4, 3 * type.units + 5), third + offsetof(everything, flag));
  EXPECT_EQ(unit_of_byte(type, 4, third + offsetof(everything, matrix[1][2])).unit,
            4 * type.units - 1);
}

TEST(Navigation, EveryUnitIsFoundAgainFromItsByte) {
  for (IW_type_t const* table : kAll) {
    const Type& type = made(*table);
    for (const std::uint64_t count : {1, 2, 7}) {
      std::size_t before = 0;
      for (std::uint64_t unit = 0; unit <= count * type.units; ++unit) {
        const std::size_t byte = byte_of_unit(type, count, unit);
        EXPECT_TRUE(unit == 0 || byte > before);
        before = byte;
        const UnitAt at = unit_of_byte(type, count, byte);
        EXPECT_EQ(at.unit, unit) << type.name << " " << byte;
        EXPECT_TRUE(at.exact);
      }
      EXPECT_EQ(before, count * type.size_bytes);
    }
  }
}

// [MIP-4]
TEST(Navigation, TheInsideOfAUnitHasNoMip) {
  const Type& type = made(IW_everything);
  EXPECT_FALSE(unit_of_byte(type, 1, offsetof(everything, big) + 1).exact);
  const UnitAt title = unit_of_byte(type, 1, offsetof(everything, title) + 17);
  EXPECT_FALSE(title.exact);
  EXPECT_EQ(byte_of_unit(type, 1, title.unit), offsetof(everything, title));
  const UnitAt form = unit_of_byte(type, 1, offsetof(everything, forms[1].u) + 3);
  EXPECT_FALSE(form.exact);
  EXPECT_EQ(byte_of_unit(type, 1, form.unit), offsetof(everything, forms[1]));
  EXPECT_TRUE(unit_of_byte(type, 1, offsetof(everything, title)).exact);
  EXPECT_TRUE(unit_of_byte(type, 1, offsetof(everything, forms[1])).exact);
}

TEST(Navigation, PaddingBelongsToNoUnit) {
  const Type& node = made(IW_node_t);
  if (offsetof(node_t, next) == sizeof(int)) GTEST_SKIP() << "no padding on this machine";
  const UnitAt at = unit_of_byte(node, 2, sizeof(int));
  EXPECT_TRUE(at.in_padding);
  EXPECT_FALSE(at.exact);
  EXPECT_EQ(at.unit, 1U);
  const UnitRange none = units_covering(node, 2, sizeof(int), offsetof(node_t, next));
  EXPECT_EQ(none.first, none.end);
}

TEST(Navigation, BytesAreCoveredByWholeUnits) {
  const Type& figure = made(IW_figure_3);
  const UnitRange range =
      units_covering(figure, 1, offsetof(figure_3, d0) + 4, offsetof(figure_3, d1) + 1);
  EXPECT_EQ(range.first, 3U);
  EXPECT_EQ(range.end, 5U);
}

TEST(Navigation, WhatBeginsAtAUnit) {
  const Type& all = made(IW_everything);
  const auto unit_at = [&](std::size_t byte) { return unit_of_byte(all, 2, byte).unit; };
  const auto begins = [&](std::size_t byte, const Type& wanted) {
    return begins_at_unit(all, 2, unit_at(byte), wanted);
  };
  const Type& node = made(IW_node_t);
  const Type& real = primitive_type(Primitive::float64);
  EXPECT_TRUE(begins(0, all));
  EXPECT_TRUE(begins(sizeof(everything), all));
  EXPECT_TRUE(begins(0, primitive_type(Primitive::character)));
  EXPECT_FALSE(begins(0, node));
  EXPECT_TRUE(begins(offsetof(everything, inner), node));
  EXPECT_TRUE(begins(offsetof(everything, inner), primitive_type(Primitive::int32)));
  EXPECT_FALSE(begins(offsetof(everything, inner.next), node));
  EXPECT_TRUE(begins(offsetof(everything, points[2]), made(IW_pair_t)));
  EXPECT_FALSE(begins(offsetof(everything, points[2].y), made(IW_pair_t)));
  EXPECT_TRUE(begins(offsetof(everything, matrix[1][1]), real));
  EXPECT_TRUE(begins(offsetof(everything, matrix), made(IW_matrix)));
  EXPECT_TRUE(begins_at_unit(all, 2, 2 * all.units, all));
  EXPECT_FALSE(begins_at_unit(all, 2, 2 * all.units + 1, all));
  EXPECT_FALSE(begins_at_unit(all, 2, 2 * all.units, node));
}

}  // namespace
}  // namespace iw::types
