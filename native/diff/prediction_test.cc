// Block prediction at the client (ICDCS'03 3.3): it saves searches, and changes nothing else.
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "diff/copies_fixture.h"

namespace iw::diff {
namespace {

using namespace types::samples;

struct couple {
  int a, b;
};
struct odd_couple {
  int a;
  unsigned b;
  int c;
};

IW_ALIGN_PROBE(couple, couple);
IW_ALIGN_PROBE(odd_couple, odd_couple);
const IW_field_def couple_fields[] = {{"a", &IW_def_int, offsetof(couple, a)},
                                      {"b", &IW_def_int, offsetof(couple, b)}};
const IW_type_def couple_def =
    IW_RECORD_DEF("couple", sizeof(couple), IW_ALIGN_OF(couple), couple_fields, 2);
const IW_field_def odd_couple_fields[] = {{"a", &IW_def_int, offsetof(odd_couple, a)},
                                          {"b", &IW_def_uint, offsetof(odd_couple, b)},
                                          {"c", &IW_def_int, offsetof(odd_couple, c)}};
const IW_type_def odd_couple_def =
    IW_RECORD_DEF("odd_couple", sizeof(odd_couple), IW_ALIGN_OF(odd_couple), odd_couple_fields, 3);
const IW_type_def five_ints_def = IW_ARRAY_DEF("five_ints", 20, IW_ALIGN_OF(int), &IW_def_int, 5);

class PredictionTest : public DiffTest {
 protected:
  static constexpr std::size_t kPointers = 1000;
  static constexpr std::size_t kFew = 8;

  PredictionTest() : writer(registry), reader(registry), searching_reader(registry) {
    const IW_type_t tables[] = {&couple_def, &odd_couple_def, &five_ints_def};
    EXPECT_TRUE(registry.add(tables).ok());
    searching_reader.options.predicts_blocks = false;
    writer.begin();
    const memory::Block array = writer.allocate(type(IW_figure_3), kPointers);
    holders = reinterpret_cast<figure_3*>(array.address);
  }

  int* allocate(const types::Type& type, std::uint64_t count = 1) {
    return reinterpret_cast<int*>(writer.allocate(type, count).address);
  }
  int* allocate_int() { return allocate(types::primitive_type(types::Primitive::int32)); }

  // With prediction and without the same bytes are sent, and lead to the same copies.
  void release() {
    CollectedDiff searched;
    writer.options.predicts_blocks = false;
    ASSERT_TRUE(writer.collect_into(searched).ok());
    writer.options.predicts_blocks = true;
    const Bytes bytes = writer.release();
    ASSERT_EQ(bytes, searched.flattened());
    ASSERT_TRUE(reader.apply(bytes).ok());
    ASSERT_TRUE(searching_reader.apply(bytes).ok());
    searches_to_send = searched.statistics().searches;
    expect_equal(writer, reader);
    expect_equal(writer, searching_reader);
  }

  Copy writer, reader, searching_reader;
  figure_3* holders = nullptr;
  std::uint64_t searches_to_send = 0;  // without prediction
};

TEST_F(PredictionTest, BlocksPointedAtInOrderAreFoundWithoutASearch) {
  for (std::size_t i = 0; i < kPointers; ++i) holders[i].ptr = allocate_int();
  release();
  EXPECT_LE(writer.last.searches, kFew);
  EXPECT_LE(reader.last.searches, kFew);
  EXPECT_GE(searches_to_send, kPointers);
  EXPECT_GE(searching_reader.last.searches, kPointers);
}

TEST_F(PredictionTest, BlocksThatChangeInOrderAreFoundWithoutASearch) {
  std::vector<int*> numbers;
  for (std::size_t i = 0; i < kPointers; ++i) numbers.push_back(allocate_int());
  release();
  writer.begin(2000);
  for (int* number : numbers) *number = 1;
  release();
  EXPECT_EQ(writer.last.blocks, kPointers);
  EXPECT_LE(writer.last.searches, kFew);
  EXPECT_LE(reader.last.searches, kFew);
  EXPECT_GE(searches_to_send, kPointers);
  EXPECT_GE(searching_reader.last.searches, kPointers);
}

TEST_F(PredictionTest, APartOfEachRecordOfAnArrayIsFoundWithoutASearch) {
  int* const odd = allocate(type(&odd_couple_def), kPointers);
  for (std::size_t i = 0; i < kPointers; ++i) holders[i].ptr = odd + 3 * i + 2;
  release();
  EXPECT_LE(writer.last.searches, kFew);
  EXPECT_LE(reader.last.searches, kFew);
}

TEST_F(PredictionTest, ScatteredPointersLeadWhereTheyLedBefore) {
  std::mt19937 random(5);
  struct Target {
    int* begin;
    std::size_t count;
    std::function<std::size_t(std::size_t)> place;  // of the ints in it
  };
  const auto every = [](std::size_t i) { return i; };
  const auto first_and_last_of_three = [](std::size_t i) { return i / 2 * 3 + i % 2 * 2; };
  std::vector<Target> targets = {
      {allocate(types::primitive_type(types::Primitive::int32), 70), 70, every},
      {allocate(type(&five_ints_def), 14), 70, every},
      {allocate(type(&couple_def), 35), 70, every},
      {allocate(type(&odd_couple_def), 35), 70, first_and_last_of_three}};
  for (int i = 0; i < 20; ++i) targets.push_back({allocate_int(), 1, every});
  for (int round = 0; round < 40; ++round) {
    if (round != 0) writer.begin(2000);
    for (std::size_t i = 0; i < kPointers;) {
      const Target& target = targets[random() % targets.size()];
      const std::size_t step = random() % 3;
      std::size_t at = random() % target.count;
      for (std::size_t left = 1 + random() % 40; left > 0 && i < kPointers; --left, ++i) {
        holders[i].ptr = random() % 20 == 0 ? nullptr : target.begin + target.place(at);
        at = (at + step) % target.count;
      }
    }
    release();
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

TEST_F(PredictionTest, APredictionDoesNotHideAPointerToAnotherType) {
  int* const odd = allocate(type(&odd_couple_def), kPointers);
  for (std::size_t i = 0; i < kPointers; ++i) holders[i].ptr = odd + 3 * i;
  holders[700].ptr = odd + 3 * 700 + 1;  // the unsigned one
  CollectedDiff out;
  const Result refused = writer.collect_into(out);
  EXPECT_EQ(refused.code, types::error_code::BAD_POINTER);
  EXPECT_NE(refused.text.find("unit 4205"), std::string::npos) << refused.text;
}

}  // namespace
}  // namespace iw::diff
