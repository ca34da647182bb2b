// A run loses its large units that did not change. These tests look at the rest.
#include "diff/large_units.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "diff/copies_fixture.h"

namespace iw::diff {
namespace {

using namespace types::samples;
using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

struct held {
  int before;
  numbers values;
  int behind;
};

IW_ALIGN_PROBE(held, held);
const IW_type_def node_reference_def = IW_POINTER_DEF("", IW_node_t);
const IW_type_def doubles_def = IW_SEQUENCE_DEF("", &IW_def_double, 0);
const IW_type_def string_of_8_def = IW_STRING_DEF("", 8);
const IW_type_def string_of_9_def = IW_STRING_DEF("", 9);
const IW_field_def held_fields[] = {{"before", &IW_def_int, offsetof(held, before)},
                                    {"values", &doubles_def, offsetof(held, values)},
                                    {"behind", &IW_def_int, offsetof(held, behind)}};
const IW_type_def held_def = IW_RECORD_DEF("held", sizeof(held), IW_ALIGN_OF(held), held_fields, 3);

class LargeUnitsTest : public DiffTest {
 protected:
  LargeUnitsTest() {
    const IW_type_t tables[] = {&node_reference_def, &doubles_def, &string_of_8_def,
                                &string_of_9_def, &held_def};
    EXPECT_TRUE(registry.add(tables).ok());
  }

  static Ranges left(const types::Type& of, std::uint64_t count, types::UnitRange range,
                     const std::byte* view, const std::byte* pristine) {
    Ranges out;
    for_each_without_equal_large_units(
        types::array_step(of, count), range, view, pristine,
        [&](types::UnitRange one) { out.emplace_back(one.first, one.end); });
    return out;
  }

  // Every byte differs from its neighbours.
  static Bytes some_bytes(std::size_t count) {
    Bytes bytes;
    for (std::size_t i = 0; i < count; ++i) bytes.push_back(static_cast<std::byte>(37 * i % 251));
    return bytes;
  }
};

TEST_F(LargeUnitsTest, OnlyTypesWithAUnitOfMoreThanEightBytesHaveThem) {
  const auto has = [](const types::Type& of) { return has_large_units(types::array_step(of, 3)); };
  EXPECT_FALSE(has(types::primitive_type(types::Primitive::float64)));
  EXPECT_FALSE(has(type(&string_of_8_def)));
  EXPECT_TRUE(has(type(&string_of_9_def)));
  EXPECT_FALSE(has(type(IW_pair_t)));
  EXPECT_TRUE(has(type(IW_node_t)));
  EXPECT_TRUE(has(type(IW_everything)));
}

// Of units side by side, and of what lies around them, each combination changes.
TEST_F(LargeUnitsTest, ThoseThatDidNotChangeAreTakenOut) {
  constexpr std::size_t kUnits = 6;
  for (const IW_type_t table : {&node_reference_def, &doubles_def, &string_of_9_def, IW_label}) {
    const types::Type& of = type(table);
    const auto bytes = static_cast<std::size_t>(of.size_bytes);
    for (unsigned changed = 0; changed < 1U << (kUnits + 2); ++changed) {
      const Bytes pristine = some_bytes((kUnits + 2) * bytes);
      Bytes view = pristine;
      for (std::size_t i = 0; i < kUnits + 2; ++i) {
        if ((changed >> i & 1) != 0) view[(i + 1) * bytes - 1] ^= std::byte{1};
      }
      for (const types::UnitRange range : {types::UnitRange{0, kUnits}, types::UnitRange{1, 5}}) {
        Ranges expected;
        for (std::uint64_t unit = range.first; unit < range.end; ++unit) {
          if ((changed >> (unit + 1) & 1) == 0) continue;
          if (expected.empty() || expected.back().second != unit) expected.emplace_back(unit, unit);
          ++expected.back().second;
        }
        EXPECT_EQ(left(of, kUnits, range, view.data() + bytes, pristine.data() + bytes), expected)
            << of.spelled() << ", changed " << changed << ", from " << range.first;
      }
    }
  }
}

TEST_F(LargeUnitsTest, OtherUnitsStayInTheirRun) {
  const Bytes same = some_bytes(6 * sizeof(held));
  const types::UnitRange all{0, 6};
  EXPECT_EQ(left(type(&string_of_8_def), 6, all, same.data(), same.data()), (Ranges{{0, 6}}));
  EXPECT_EQ(
      left(types::primitive_type(types::Primitive::float64), 6, all, same.data(), same.data()),
      (Ranges{{0, 6}}));
  EXPECT_EQ(left(type(&held_def), 2, all, same.data(), same.data()),
            (Ranges{{0, 1}, {2, 4}, {5, 6}}));
  EXPECT_EQ(left(type(&held_def), 2, {1, 5}, same.data(), same.data()), (Ranges{{2, 4}}));
}

}  // namespace
}  // namespace iw::diff
