#include "types/registry.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "types/sample_types.h"

namespace iw::types {
namespace {

using namespace samples;

IW_type_def renamed_node(const char* name, const IW_field_def* fields, std::size_t count) {
  IW_type_def table = *IW_node_t;
  table.name = name;
  table.fields = fields;
  table.field_count = count;
  return table;
}

const Type* find(Registry& registry, IW_type_t table, error_code expected = error_code::OK) {
  Result why;
  const Type* const type = registry.find(table, why);
  EXPECT_EQ(why.code, expected) << why.text;
  EXPECT_EQ(type != nullptr, expected == error_code::OK);
  return type;
}

TEST(Registry, ATableThatWasNotRegisteredIsUnknown) {
  Registry registry;
  find(registry, IW_node_t, error_code::UNKNOWN_TYPE);
  find(registry, nullptr, error_code::BAD_ARGUMENT);
  ASSERT_TRUE(registry.add(std::span(&IW_node_t, 1)).ok());
  EXPECT_EQ(find(registry, IW_node_t)->name, "node_t");
}

TEST(Registry, PrimitivesAreKnownAtAnyAddress) {
  Registry registry;
  EXPECT_EQ(find(registry, IW_double), &primitive_type(Primitive::float64));
  const IW_type_def copy = IW_def_int;
  EXPECT_EQ(find(registry, &copy), &primitive_type(Primitive::int32));
}

TEST(Registry, ReferencesAreFollowedOnlyAtFirstUse) {
  IW_type_def later = IW_POINTER_DEF("later", nullptr);
  const IW_field_def fields[] = {{"to", &later, 0}};
  const IW_type_def user = IW_RECORD_DEF("user", sizeof(void*), alignof(void*), fields, 1);
  Registry registry;
  const IW_type_t tables[] = {&user};
  ASSERT_TRUE(registry.add(tables).ok());
  later.element = IW_node_t;  // as if another table had been loaded
  EXPECT_EQ(find(registry, &user)->fields[0].type->target->name, "node_t");
}

TEST(Registry, TheSameNameWithAnotherStructureIsAConflictAtItsUse) {
  const IW_field_def fields[] = {{"key", &IW_def_int, 0}, {"next", &IW_def_int, 4}};
  IW_type_def other = renamed_node("node_t", fields, 2);
  other.size = 8;
  other.align = 4;
  Registry registry;
  const IW_type_t tables[] = {IW_node_t, &other};
  ASSERT_TRUE(registry.add(tables).ok());
  find(registry, &other, error_code::TYPE_CONFLICT);
  find(registry, IW_node_t);
  EXPECT_EQ(registry.find("node_t"), find(registry, IW_node_t));
}

TEST(Registry, TheSameTypeTwiceIsOneType) {
  const IW_type_def again = renamed_node("node_t", IW_node_t->fields, 2);
  Registry registry;
  const IW_type_t tables[] = {IW_node_t, &again};
  ASSERT_TRUE(registry.add(tables).ok());
  EXPECT_EQ(find(registry, &again), find(registry, IW_node_t));
}

TEST(Registry, TwoTablesOfOneNameInOneTypeAreAConflict) {
  const IW_field_def inner[] = {{"x", &IW_def_int, 0}};
  const IW_field_def other_inner[] = {{"y", &IW_def_int, 0}};
  const IW_type_def a = IW_RECORD_DEF("part", 4, 4, inner, 1);
  const IW_type_def b = IW_RECORD_DEF("part", 4, 4, other_inner, 1);
  const IW_field_def fields[] = {{"a", &a, 0}, {"b", &b, 4}};
  const IW_type_def whole = IW_RECORD_DEF("whole", 8, 4, fields, 2);
  Registry registry;
  const IW_type_t tables[] = {&whole};
  ASSERT_TRUE(registry.add(tables).ok());
  find(registry, &whole, error_code::TYPE_CONFLICT);
}

TEST(Registry, TablesOfAnotherAbiAreRefusedWithWhatIsWrong) {
  struct Case {
    const char* what;
    std::size_t size, align, second_offset;
  };
  const std::size_t good = offsetof(node_t, next);
  for (const Case& one :
       {Case{"overlap", sizeof(node_t), alignof(node_t), 0},
        Case{"beyond", sizeof(node_t), alignof(node_t), sizeof(node_t)},
        Case{"unaligned", sizeof(node_t), alignof(node_t), good - 1},
        Case{"size", sizeof(node_t) + 1, alignof(node_t), good},
        Case{"align", sizeof(node_t), 3, good}, Case{"no align", sizeof(node_t), 0, good}}) {
    IW_field_def fields[] = {IW_node_t->fields[0], IW_node_t->fields[1]};
    fields[1].offset = one.second_offset;
    IW_type_def table = renamed_node("bad", fields, 2);
    table.size = one.size;
    table.align = one.align;
    Registry registry;
    const IW_type_t tables[] = {&table};
    ASSERT_TRUE(registry.add(tables).ok()) << one.what;
    find(registry, &table, error_code::BAD_ARGUMENT);
  }
}

TEST(Registry, ATableThatHoldsItselfIsRefused) {
  IW_type_def table = IW_ARRAY_DEF("loop", 8, 8, nullptr, 1);
  table.element = &table;
  IW_type_def pointer = IW_POINTER_DEF("", nullptr);
  pointer.element = &pointer;
  Registry registry;
  const IW_type_t tables[] = {&table, &pointer};
  ASSERT_TRUE(registry.add(tables).ok());
  find(registry, &table, error_code::BAD_ARGUMENT);
  find(registry, &pointer, error_code::BAD_ARGUMENT);
}

TEST(Registry, ManyThreadsMayUseItAtOnce) {
  Registry registry;
  std::vector<IW_type_t> tables;
  for (IW_type_t const* table : kAll) tables.push_back(*table);
  ASSERT_TRUE(registry.add(tables).ok());
  std::vector<std::thread> threads;
  std::vector<const Type*> seen(4);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    threads.emplace_back([&, i] {
      Result why;
      seen[i] = registry.find(IW_everything, why);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Type* type : seen) EXPECT_EQ(type, seen[0]);
  EXPECT_NE(seen[0], nullptr);
}

TEST(Registry, TheCInterfaceAnswersWithNegativeCodes) {
  EXPECT_EQ(IW_register_types(nullptr, 0), 0);
  EXPECT_EQ(IW_register_types(nullptr, 1), -static_cast<int>(error_code::BAD_ARGUMENT));
  const IW_type_t none[] = {nullptr};
  EXPECT_EQ(IW_register_types(none, 1), -static_cast<int>(error_code::BAD_ARGUMENT));
  EXPECT_EQ(IW_register_types(&IW_pair_t, 1), 0);
}

}  // namespace
}  // namespace iw::types
