#include "types/segment_types.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "types/descriptor.h"
#include "types/hash.h"
#include "types/navigation.h"
#include "types/sample_types.h"

namespace iw::types {
namespace {

using namespace samples;
using protocol::type_descriptor;
using protocol::type_kind;

class SegmentTypesTest : public testing::Test {
 protected:
  SegmentTypesTest() {
    std::vector<IW_type_t> tables;
    for (IW_type_t const* table : kAll) tables.push_back(*table);
    EXPECT_TRUE(program_.add(tables).ok());
  }

  const Type& type(IW_type_t table) {
    Result why;
    return *program_.find(table, why);
  }

  // What a writer with the sample types sends for one of them.
  std::vector<type_descriptor> descriptors(IW_type_t table) {
    SegmentTypes writer(program_);
    Result why;
    EXPECT_NE(writer.add(type(table), why), nullptr) << why.text;
    return writer.uncommitted();
  }

  Registry program_;
  Registry stranger_;  // a program that has registered nothing
};

TEST_F(SegmentTypesTest, AWriterSendsATypeWithAllItLeadsTo) {
  SegmentTypes types(program_);
  Result why;
  EXPECT_EQ(types.add(type(IW_node_t), why), &type(IW_node_t));
  const auto sent = types.uncommitted();
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].serial, 64U);
  EXPECT_EQ(sent[0].body.kind, type_kind::POINTER);
  EXPECT_EQ(sent[0].body.target, 65U);
  EXPECT_EQ(sent[1].name, "node_t");
  EXPECT_EQ(sent[1].body.fields[0].type, 5U);
  EXPECT_EQ(sent[1].body.fields[1].type, 64U);
  types.commit();
  EXPECT_TRUE(types.uncommitted().empty());
  EXPECT_NE(types.add(type(IW_node_t), why), nullptr);
  EXPECT_TRUE(types.uncommitted().empty());
}

TEST_F(SegmentTypesTest, WhatWasNotCommittedIsForgotten) {
  SegmentTypes types(program_);
  Result why;
  ASSERT_NE(types.add(type(IW_pair_t), why), nullptr);
  types.commit();
  const std::uint32_t next = types.next_serial();
  ASSERT_NE(types.add(type(IW_everything), why), nullptr);
  EXPECT_NE(types.serial_of(type(IW_shape)), 0U);
  types.rollback();
  EXPECT_EQ(types.next_serial(), next);
  EXPECT_EQ(types.serial_of(type(IW_shape)), 0U);
  EXPECT_EQ(types.find("shape"), nullptr);
  EXPECT_EQ(types.serial_of(type(IW_pair_t)), 64U);
}

TEST_F(SegmentTypesTest, AStrangerLaysTypesOutAsTheCompilerDoes) {
  for (IW_type_t const* table : kAll) {
    SegmentTypes received(stranger_);
    ASSERT_TRUE(received.add_received(descriptors(*table)).ok());
    const Type& here = type(*table);
    const Type* const there = received.find(here.name);
    ASSERT_NE(there, nullptr);
    EXPECT_NE(there, &here);
    EXPECT_TRUE(same_layout(here, *there)) << here.name;
    EXPECT_EQ(there->contains_pointers, here.contains_pointers);
    EXPECT_EQ(there->plan.steps.size(), here.plan.steps.size());
    for (std::uint64_t unit = 0; unit < here.units; ++unit) {
      EXPECT_EQ(byte_of_unit(*there, 1, unit), byte_of_unit(here, 1, unit));
    }
  }
}

TEST_F(SegmentTypesTest, AProgramUsesItsOwnTypesForWhatItReceives) {
  SegmentTypes received(program_);
  ASSERT_TRUE(received.add_received(descriptors(IW_everything)).ok());
  EXPECT_EQ(received.find("everything"), &type(IW_everything));
  EXPECT_EQ(received.find("node_t"), &type(IW_node_t));
}

TEST_F(SegmentTypesTest, ATypeRegisteredAfterItArrivedMustAgreeInItsLayout) {
  SegmentTypes received(stranger_);
  ASSERT_TRUE(received.add_received(descriptors(IW_node_t)).ok());
  Result why;
  EXPECT_EQ(received.add(type(IW_node_t), why), received.find("node_t"));
  // The same structure, packed or padded by another compiler.
  Type padded = type(IW_node_t);
  padded.size_bytes *= 2;
  EXPECT_EQ(received.add(padded, why), nullptr);
  EXPECT_EQ(why.code, error_code::TYPE_CONFLICT);
}

TEST_F(SegmentTypesTest, ASecondStructureOfANameIsAConflict) {
  auto first = descriptors(IW_pair_t);
  SegmentTypes types(stranger_);
  ASSERT_TRUE(types.add_received(first).ok());
  Type other = type(IW_pair_t);
  other.fields[0].name = "z";
  Type* const group[] = {&other};
  ASSERT_TRUE(hash_group(group));
  Result why;
  EXPECT_EQ(types.add(other, why), nullptr);
  EXPECT_EQ(why.code, error_code::TYPE_CONFLICT);
  std::vector<type_descriptor> second;
  second.push_back(describe(other, 65, [](const Type&) { return 9U; }));
  EXPECT_EQ(types.add_received(second).code, error_code::TYPE_CONFLICT);
  EXPECT_EQ(types.next_serial(), 65U);
}

TEST_F(SegmentTypesTest, AStructureThatIsNotTheProgramsIsAConflict) {
  auto others = descriptors(IW_pair_t);
  SegmentTypes theirs(stranger_);
  ASSERT_TRUE(theirs.add_received(others).ok());
  Type other = type(IW_pair_t);
  other.fields[0].name = "z";
  Type* const group[] = {&other};
  ASSERT_TRUE(hash_group(group));
  std::vector<type_descriptor> received;
  received.push_back(describe(other, 64, [](const Type&) { return 9U; }));
  SegmentTypes types(program_);
  const Result result = types.add_received(received);
  EXPECT_EQ(result.code, error_code::TYPE_CONFLICT) << result.text;
  EXPECT_EQ(types.next_serial(), 64U);
}

// [DIFF-8]
TEST_F(SegmentTypesTest, KnownDescriptorsMayComeAgainIfTheyAgree) {
  SegmentTypes types(stranger_);
  ASSERT_TRUE(types.add_received(descriptors(IW_everything)).ok());
  const Type* const before = types.find("everything");
  ASSERT_TRUE(types.add_received(descriptors(IW_everything)).ok());
  ASSERT_TRUE(types.replace(descriptors(IW_everything)).ok());
  EXPECT_EQ(types.find("everything"), before);
  EXPECT_EQ(types.add_received(descriptors(IW_pair_t)).code, error_code::MALFORMED);
  ASSERT_TRUE(types.replace(descriptors(IW_pair_t)).ok());
  EXPECT_EQ(types.find("everything"), nullptr);
  EXPECT_EQ(types.serial_of(*types.find("pair_t")), 64U);
}

TEST_F(SegmentTypesTest, WhatTheSpecificationForbidsIsRefused) {
  const auto refused = [&](auto change) {
    auto list = descriptors(IW_everything);
    change(list);
    SegmentTypes types(stranger_);
    EXPECT_EQ(types.add_received(list).code, error_code::MALFORMED);
    EXPECT_EQ(types.next_serial(), 64U);
  };
  const auto of_kind = [](std::vector<type_descriptor>& list, type_kind kind) -> type_descriptor& {
    for (type_descriptor& one : list) {
      if (one.body.kind == kind) return one;
    }
    ADD_FAILURE() << "no such kind";
    return list[0];
  };
  using List = std::vector<type_descriptor>;
  refused([](List& list) { list[1].serial = 70; });
  refused([](List& list) { list[1].hash ^= 1; });
  refused([](List& list) { list[0].name = std::string(256, 'x'); });
  refused([&](List& list) { of_kind(list, type_kind::ARRAY).body.array.count = 0; });
  refused([&](List& list) { of_kind(list, type_kind::ARRAY).body.array.element = 12; });
  refused([&](List& list) { of_kind(list, type_kind::RECORD).body.fields.clear(); });
  refused([&](List& list) {
    type_descriptor& record = of_kind(list, type_kind::RECORD);
    record.body.fields[0].type = record.serial;
  });
  refused([&](List& list) {
    auto& fields = of_kind(list, type_kind::RECORD).body.fields;
    fields[1].name = fields[0].name;
  });
  refused([&](List& list) { of_kind(list, type_kind::POINTER).body.target = 999; });
  refused([&](List& list) { of_kind(list, type_kind::STRING).body.bound = 0; });
  refused([&](List& list) { of_kind(list, type_kind::STRING).body.bound = 4097; });
  refused([&](List& list) { of_kind(list, type_kind::UNION).body.choice.discriminant_type = 10; });
  refused([&](List& list) {
    auto& arms = of_kind(list, type_kind::UNION).body.choice.arms;
    arms[1].values[0] = arms[0].values[0];
  });
  refused([&](List& list) {
    auto& members = of_kind(list, type_kind::ENUM).body.members;
    members[1].name = members[0].name;
  });
}

type_descriptor array_of(std::uint32_t serial, std::uint32_t element, std::uint32_t count) {
  type_descriptor out;
  out.serial = serial;
  out.body.kind = type_kind::ARRAY;
  out.body.array = {element, count};
  return out;
}

TEST_F(SegmentTypesTest, SizesAndDepthAreBounded) {
  std::vector<type_descriptor> large;
  std::uint64_t hash = primitive_type(Primitive::character).hash;
  for (std::uint32_t i = 0; i < 2; ++i) {
    large.push_back(array_of(64 + i, i == 0 ? 1 : 63 + i, 1U << 31));
    Fnv1a next;
    next.u8(4);
    next.u64(hash);
    next.u32(1U << 31);
    hash = large.back().hash = next.value();
  }
  SegmentTypes types(stranger_);
  EXPECT_EQ(types.add_received(large).code, error_code::MALFORMED);
  std::vector<type_descriptor> deep;
  hash = primitive_type(Primitive::character).hash;
  for (std::uint32_t i = 0; i < 65; ++i) {
    deep.push_back(array_of(64 + i, i == 0 ? 1 : 63 + i, 1));
    Fnv1a next;
    next.u8(4);
    next.u64(hash);
    next.u32(1);
    hash = deep.back().hash = next.value();
  }
  EXPECT_EQ(types.add_received(deep).code, error_code::MALFORMED);
  EXPECT_TRUE(types.add_received(std::span(deep).first(64)).ok());
}

TEST_F(SegmentTypesTest, UnnamedTypesThatLeadBackToThemselvesAreRefused) {
  const auto chain = [](std::uint32_t length, std::uint32_t last) {
    std::vector<type_descriptor> list(length);
    for (std::uint32_t i = 0; i < length; ++i) {
      list[i].serial = 64 + i;
      list[i].body.kind = type_kind::POINTER;
      list[i].body.target = i + 1 == length ? last : 65 + i;
    }
    return list;
  };
  SegmentTypes types(stranger_);
  EXPECT_EQ(types.add_received(chain(1, 64)).code, error_code::MALFORMED);
  EXPECT_EQ(types.add_received(chain(2, 64)).code, error_code::MALFORMED);
  EXPECT_EQ(types.add_received(chain(65000, 5)).code, error_code::MALFORMED);
}

// A record that doubles itself 40 times over: its plan must stay small, its units count.
TEST_F(SegmentTypesTest, PlansGrowWithFieldsAndNotWithUnits) {
  std::vector<type_descriptor> list;
  std::uint64_t hash = 0;
  constexpr std::uint32_t levels = sizeof(void*) == 8 ? 30 : 26;  // what an address space can hold
  for (std::uint32_t i = 0; i < levels; ++i) {
    type_descriptor one;
    one.serial = 64 + i;
    one.body.kind = type_kind::RECORD;
    one.body.fields.push_back({"a", i == 0 ? 1U : 63 + i});
    one.body.fields.push_back({"b", i == 0 ? 5U : 63 + i});
    Fnv1a next;
    next.u8(5);
    next.u32(2);
    next.text("a");
    next.u64(i == 0 ? primitive_type(Primitive::character).hash : hash);
    next.text("b");
    next.u64(i == 0 ? primitive_type(Primitive::int32).hash : hash);
    hash = one.hash = next.value();
    list.push_back(std::move(one));
  }
  SegmentTypes types(stranger_);
  ASSERT_TRUE(types.add_received(list).ok());
  const Type& last = *types.find(63U + levels);
  EXPECT_EQ(last.units, std::uint64_t{1} << levels);
  EXPECT_LE(last.plan.steps.size(), 64U);
  const std::uint64_t unit = last.units / 10 * 9 + 1;
  EXPECT_EQ(unit_of_byte(last, 1, byte_of_unit(last, 1, unit)).unit, unit);
  std::uint64_t seen = 0;
  for_each_row(array_step(last, 1), unit, unit + 1000, [&](const UnitRow& row) {
    seen += row.count;
    return true;
  });
  EXPECT_EQ(seen, 1000U);
}

TEST_F(SegmentTypesTest, DamagedDescriptorsAreNeverBelieved) {
  std::vector<std::uint8_t> bytes;
  xdr::Writer writer(bytes);
  const auto good = descriptors(IW_everything);
  for (const type_descriptor& one : good) encode(writer, one);
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::uint8_t> damaged = bytes;
    const std::size_t flips = 1 + random() % 3;
    for (std::size_t i = 0; i < flips; ++i) damaged[random() % bytes.size()] ^= 1U << random() % 8;
    xdr::Reader reader(damaged.data(), damaged.size());
    std::vector<type_descriptor> list;
    while (reader.remaining() != 0) {
      type_descriptor one;
      if (!decode(reader, one)) break;
      list.push_back(std::move(one));
    }
    if (list == good) continue;
    SegmentTypes types(stranger_);
    const Result result = types.add_received(list);
    // An accepted list is a shorter one, or differs only where no hash covers it.
    EXPECT_EQ(types.next_serial(), result.ok() ? 64 + list.size() : 64U);
  }
}

}  // namespace
}  // namespace iw::types
