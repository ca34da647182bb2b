#include "types/type.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "types/hash.h"
#include "types/registry.h"
#include "types/sample_types.h"

namespace iw::types {
namespace {

using namespace samples;

const Type& made(IW_type_t table) {
  Result why;
  Registry& registry = Registry::program();
  EXPECT_TRUE(registry.add(std::span(&table, 1)).ok());
  const Type* const type = registry.find(table, why);
  EXPECT_NE(type, nullptr) << why.text;
  return *type;
}

std::uint64_t hash_of_bytes(std::initializer_list<unsigned char> bytes) {
  Fnv1a hash;
  for (const unsigned char byte : bytes) hash.u8(byte);
  return hash.value();
}

TEST(Type, TheHashOfNodeIsThatOfTheSpecificationsSignature) {
  const std::uint64_t hash_of_int = hash_of_bytes({1, 5});
  const std::uint64_t hash_of_pointer =
      hash_of_bytes({7, 1, 6, 0, 0, 0, 'n', 'o', 'd', 'e', '_', 't'});
  Fnv1a record;
  record.u8(5);
  record.u32(2);
  record.text("key");
  record.u64(hash_of_int);
  record.text("next");
  record.u64(hash_of_pointer);
  const Type& node = made(IW_node_t);
  EXPECT_EQ(primitive_type(Primitive::int32).hash, hash_of_int);
  EXPECT_EQ(node.fields[1].type->hash, hash_of_pointer);
  EXPECT_EQ(node.hash, record.value());
  // The same, as numbers: computed from the prose by another program.
  EXPECT_EQ(hash_of_int, 0x82f1f07b4e887abU);
  EXPECT_EQ(hash_of_pointer, 0x48309218879be980U);
  EXPECT_EQ(node.hash, 0x5f5918dd9461ea69U);
}

TEST(Type, NodeHasTheSizesOfTheSpecification) {
  const Type& node = made(IW_node_t);
  EXPECT_EQ(node.units, 2U);
  EXPECT_EQ(node.slot_bytes, 20U);
  EXPECT_TRUE(node.contains_pointers);
  EXPECT_EQ(node.fields[1].type->target, &node);
  const Type& figure = made(IW_figure_3);
  EXPECT_EQ(figure.units, 6U);
  EXPECT_EQ(figure.slot_bytes, 44U);
}

TEST(Type, ARecordOfEqualNumbersWithoutPaddingIsOneStep) {
  const Type& pair = made(IW_pair_t);
  ASSERT_EQ(pair.plan.steps.size(), 1U);
  EXPECT_EQ(pair.plan.steps[0].count, 2U);
  const Step array = array_step(pair, 1000);
  EXPECT_EQ(array.kind, UnitKind::number);
  EXPECT_EQ(array.count, 2000U);
  EXPECT_EQ(array.number_bytes, 4);
  EXPECT_EQ(array_step(made(IW_matrix), 5).count, 30U);
}

TEST(Type, NeighbouringUnitsOfOneKindAreOneStep) {
  // int[3], double[2], pointer.
  EXPECT_EQ(made(IW_figure_3).plan.steps.size(), 3U);
}

TEST(Type, WithoutMergingEachFieldIsAStep) {
  set_merging_of_plans(false);
  Registry registry;
  EXPECT_TRUE(registry.add({&IW_figure_3, 1}).ok());
  Result why;
  const Type* const figure = registry.find(IW_figure_3, why);
  set_merging_of_plans(true);
  ASSERT_NE(figure, nullptr) << why.text;
  EXPECT_EQ(figure->plan.steps.size(), 6U);
}

TEST(Type, UnionsSelectTheirArms) {
  const Type& shape = made(IW_shape);
  EXPECT_EQ(shape.units, 1U);
  EXPECT_EQ(shape.slot_bytes, 4U + 20U);
  EXPECT_EQ(shape.arm_for(1)->name, "radius");
  EXPECT_EQ(shape.arm_for(3)->name, "side");
  EXPECT_EQ(shape.arm_for(-1)->type, nullptr);
  EXPECT_EQ(shape.arm_for(0)->name, "label");
  EXPECT_TRUE(made(IW_colour).has_member(5));
  EXPECT_FALSE(made(IW_colour).has_member(3));
}

TEST(Type, ZeroMayTravelAsADiscriminantThatSelectsNothing) {  // [WIRE-4]
  Type flag = primitive_type(Primitive::boolean);
  Type choice;
  choice.discriminant = &flag;
  choice.arms.resize(1);
  choice.sorted_cases = {{1, 0}};
  const Arm* arm = nullptr;
  EXPECT_TRUE(choice.select_arm(0, arm));
  EXPECT_EQ(arm, nullptr);
  EXPECT_TRUE(choice.select_arm(1, arm));
  EXPECT_EQ(arm, choice.arms.data());
  EXPECT_FALSE(choice.select_arm(2, arm));
  choice.has_default = true;
  EXPECT_TRUE(choice.select_arm(0, arm));
  EXPECT_EQ(arm, choice.arms.data());
  EXPECT_FALSE(choice.select_arm(2, arm));
}

TEST(Type, StepsCoverEveryUnitOnce) {
  const Type& type = made(IW_everything);
  std::uint64_t next = 0;
  std::size_t end = 0;
  std::uint64_t slot = 0;
  for (const Step& step : type.plan.steps) {
    EXPECT_EQ(step.first_unit, next);
    EXPECT_GE(step.offset_bytes, end);
    EXPECT_EQ(step.slot_offset_bytes, slot);
    next = step.end_unit();
    end = step.end_bytes();
    slot += step.count * step.slot_bytes_each;
  }
  EXPECT_EQ(next, type.units);
  EXPECT_EQ(slot, type.slot_bytes);
  EXPECT_LE(end, type.size_bytes);
}

}  // namespace
}  // namespace iw::types
