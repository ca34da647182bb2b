#include "types/reflection.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <deque>
#include <string>

#include "types/registry.h"
#include "types/sample_types.h"

namespace iw::types {
namespace {

using namespace samples;

// Types of other names than the samples', registered in the test's own registry: to the program's
// they are strangers.
class ReflectionTest : public testing::Test {
 protected:
  const Type& type(IW_type_t table) {
    Result why;
    EXPECT_TRUE(own_.add({&table, 1}).ok());
    const Type* const found = own_.find(table, why);
    EXPECT_NE(found, nullptr) << why.text;
    return *found;
  }
  const Type& stranger(IW_type_t sample, const char* name) {
    IW_type_def& table = tables_.emplace_back(*sample);
    table.name = name;
    return type(&table);
  }
  static const Type* read_back(IW_type_t table) {
    Result why;
    const Type* const found = Registry::program().find(table, why);
    EXPECT_NE(found, nullptr) << why.text;
    return found;
  }

  Registry own_;
  std::deque<IW_type_def> tables_;
  std::deque<std::string> names_;
};

TEST_F(ReflectionTest, ATableReadsBackAsTheTypeThatItWasMadeOf) {
  for (const IW_type_t sample : {IW_everything, IW_shape, IW_figure_3, IW_node_t, IW_colour}) {
    names_.push_back("strange_" + std::string(sample->name));
    const Type& from = stranger(sample, names_.back().c_str());
    const IW_type_t table = table_of(from);
    ASSERT_NE(table, nullptr);
    EXPECT_NE(table, &tables_.back());
    const Type* const back = read_back(table);
    ASSERT_NE(back, nullptr);
    EXPECT_TRUE(same_layout(*back, from)) << from.name;
    EXPECT_EQ(back->hash, from.hash);
  }
}

TEST_F(ReflectionTest, ATypeHasOneTableAndPrimitivesTheLibrarys) {
  const Type& one = stranger(IW_shape, "one_table");
  EXPECT_EQ(table_of(one), table_of(stranger(IW_shape, "one_table")));
  EXPECT_NE(table_of(one), table_of(stranger(IW_shape, "another")));
  EXPECT_EQ(table_of(type(IW_shape)), IW_shape) << "what the program registered is the program's";
  EXPECT_EQ(table_of(primitive_type(Primitive::float64)), &IW_def_double);
  const IW_type_t node = table_of(type(IW_node_t));
  EXPECT_STREQ(node->fields[1].name, "next");
  EXPECT_EQ(node->fields[1].type->element, node) << "a pointer leads back to the type's own table";
}

TEST_F(ReflectionTest, AMadeTableClaimsNoName) {
  (void)table_of(stranger(IW_pair_t, "nobodys"));
  EXPECT_EQ(Registry::program().find("nobodys"), nullptr);
}

TEST_F(ReflectionTest, ATableWithoutLayoutIsLaidOutAsTheCompilerDoes) {
  struct mixed {
    char small;
    double large;
    short middle;
    void* next;
  };
  IW_type_def to = IW_POINTER_DEF("", nullptr);
  to.size = to.align = 0;
  const IW_field_def fields[] = {
      {"small", IW_char, 0}, {"large", IW_double, 0}, {"middle", IW_short, 0}, {"next", &to, 0}};
  static IW_type_def sizeless = IW_RECORD_DEF("reflected_mixed", 0, 0, nullptr, 4);
  sizeless.fields = fields;
  const IW_type_t given = &sizeless;
  ASSERT_TRUE(Registry::program().add({&given, 1}).ok());
  Result why;
  const IW_type_t table = laid_out(given, why);
  ASSERT_NE(table, nullptr) << why.text;
  EXPECT_EQ(table->size, sizeof(mixed));
  EXPECT_EQ(table->align, alignof(mixed));
  EXPECT_EQ(table->fields[1].offset, offsetof(mixed, large));
  EXPECT_EQ(table->fields[2].offset, offsetof(mixed, middle));
  EXPECT_EQ(table->fields[3].offset, offsetof(mixed, next));
}

TEST_F(ReflectionTest, WhatIsNotRegisteredHasNoLayout) {
  Result why;
  // Static: tables are known by their addresses, and other tests' were on the stack.
  static const IW_type_def unknown = *IW_pair_t;
  EXPECT_EQ(laid_out(&unknown, why), nullptr);
  EXPECT_EQ(why.code, error_code::UNKNOWN_TYPE);
}

}  // namespace
}  // namespace iw::types
