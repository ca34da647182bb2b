// Block prediction at the client (ICDCS'03 3.3): it saves searches, and changes nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
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

struct mixed {
  unsigned a;
  int b;
};
struct two_pointers {
  int* p;
  double* q;
};

IW_ALIGN_PROBE(mixed, mixed);
IW_ALIGN_PROBE(two_pointers, two_pointers);
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
const IW_field_def mixed_fields[] = {{"a", &IW_def_uint, offsetof(mixed, a)},
                                     {"b", &IW_def_int, offsetof(mixed, b)}};
const IW_type_def mixed_def =
    IW_RECORD_DEF("mixed", sizeof(mixed), IW_ALIGN_OF(mixed), mixed_fields, 2);
const IW_type_def int_pointer_def = IW_POINTER_DEF("", &IW_def_int);
const IW_type_def double_pointer_def = IW_POINTER_DEF("", &IW_def_double);
const IW_field_def two_pointers_fields[] = {{"p", &int_pointer_def, offsetof(two_pointers, p)},
                                            {"q", &double_pointer_def, offsetof(two_pointers, q)}};
const IW_type_def two_pointers_def = IW_RECORD_DEF(
    "two_pointers", sizeof(two_pointers), IW_ALIGN_OF(two_pointers), two_pointers_fields, 2);
const IW_type_def five_ints_def = IW_ARRAY_DEF("five_ints", 20, IW_ALIGN_OF(int), &IW_def_int, 5);

class PredictionTest : public DiffTest {
 protected:
  static constexpr std::size_t kPointers = 1000;
  static constexpr std::size_t kFew = 8;

  PredictionTest() : writer(registry), reader(registry), searching_reader(registry) {
    const IW_type_t tables[] = {&couple_def, &odd_couple_def, &mixed_def, &two_pointers_def,
                                &five_ints_def};
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

  // The third pointer of a diff, which leads to unit `sent` of a block of odd couples, arrives with
  // other units.
  void third_pointer_leads_to(const int* odd, std::uint64_t sent, const std::vector<int>& units) {
    const Bytes good = writer.release();
    memory::Block block;
    ASSERT_TRUE(writer.heap->find_at(odd, block));
    std::byte third[swizzle::kWirePointerBytes];
    store_words({block.serial << 16, sent}, third);
    const auto at = std::find_end(good.begin(), good.end(), third, third + sizeof third);
    ASSERT_NE(at, good.end());
    for (const int unit : units) {
      SCOPED_TRACE(unit);
      Bytes bytes = good;
      bytes[static_cast<std::size_t>(at - good.begin()) + 8] = static_cast<std::byte>(unit);
      const int* stubs[2];
      for (const bool predicts : {false, true}) {
        Copy copy(registry);
        copy.options.predicts_blocks = predicts;
        ASSERT_TRUE(copy.apply(bytes).ok());
        memory::Block got;
        memory::Block there;
        ASSERT_TRUE(copy.heap->find(1, got) && copy.heap->find(block.serial, there));
        const int* const to = reinterpret_cast<const figure_3*>(got.address)[2].ptr;
        const std::ptrdiff_t offset = reinterpret_cast<const std::byte*>(to) - there.address;
        const bool is_int = unit % 3 != 1 && unit <= static_cast<int>(3 * block.count);
        if (is_int) {
          EXPECT_EQ(offset, unit * 4);
        }
        EXPECT_EQ(offset >= 0 && offset <= static_cast<std::ptrdiff_t>(there.size_bytes), is_int);
        stubs[predicts ? 1 : 0] = is_int ? nullptr : to;
      }
      EXPECT_EQ(stubs[0], stubs[1]);
    }
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
  EXPECT_LE(searching_reader.last.searches, 3 * kPointers);
}

TEST_F(PredictionTest, ADiffTellsOnlyItsOwnSearches) {
  for (std::size_t i = 0; i < kPointers; ++i) holders[i].ptr = allocate_int();
  CollectedDiff out;
  ASSERT_TRUE(writer.collect_into(out).ok());
  swizzle::Swizzler swizzler(*writer.heap, writer.slots, writer.resolver);
  Options searching;
  searching.predicts_blocks = false;
  std::uint64_t first = 0;
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_TRUE(collect({*writer.heap, writer.types, writer.slots, swizzler, 0, writer.changed,
                         true, searching},
                        out)
                    .ok());
    if (turn == 0) first = out.statistics().searches;
    EXPECT_EQ(out.statistics().searches, first);
  }
  EXPECT_GE(first, kPointers);
  EXPECT_LE(first, 3 * kPointers);
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

// Two pointers into a block are what a prediction takes.
TEST_F(PredictionTest, AfterTwoPointersABadOneIsRefused) {
  int* const ints = allocate(types::primitive_type(types::Primitive::int32), 10);
  int* const odd = allocate(type(&odd_couple_def), 10);
  int* const mixed = allocate(type(&mixed_def), 10);
  const auto moved = [](int* to, std::ptrdiff_t bytes) {
    return reinterpret_cast<int*>(reinterpret_cast<char*>(to) + bytes);
  };
  struct Case {
    const char* what;
    int* good;
    int* also_good;
    int* bad;
  };
  const Case cases[] = {
      {"not at an int", ints, ints + 1, moved(ints, 9)},
      {"between two", ints, ints + 1, moved(ints, 10)},
      {"before the next", ints, ints + 1, moved(ints, 11)},
      {"another field", odd + 2, odd + 5, odd + 7},
      {"within a field", odd + 2, odd + 5, moved(odd, 33)},
      {"a field of no record, behind the last", odd + 2, odd + 5, odd + 32},
      {"the field before", mixed + 1, mixed + 3, mixed + 4},
  };
  for (const Case& one : cases) {
    for (const int fourth : {0, 1}) {
      SCOPED_TRACE(std::string(one.what) + (fourth != 0 ? ", behind two more" : ""));
      holders[0].ptr = holders[3].ptr = one.good;
      holders[1].ptr = holders[4].ptr = one.also_good;
      holders[2].ptr = fourth == 0 ? one.bad : one.good;
      holders[5].ptr = fourth == 0 ? nullptr : one.bad;
      CollectedDiff out;
      const Result refused = writer.collect_into(out);
      EXPECT_EQ(refused.code, types::error_code::BAD_POINTER);
      EXPECT_NE(refused.text.find(fourth == 0 ? "unit 17:" : "unit 35:"), std::string::npos)
          << refused.text;
    }
  }
}

TEST_F(PredictionTest, APointerToArraysLeadsToTheBeginOfOne) {
  const IW_type_def pointer_def = IW_POINTER_DEF("", &five_ints_def);
  const IW_type_t tables[] = {&pointer_def};
  ASSERT_TRUE(registry.add(tables).ok());
  int* const fives = allocate(type(&five_ints_def), 10);
  auto* const row = reinterpret_cast<int**>(writer.allocate(type(&pointer_def), 4).address);
  for (std::size_t i = 0; i < 4; ++i) row[i] = fives + 5 * i;
  row[3] = fives + 6;
  CollectedDiff out;
  const Result refused = writer.collect_into(out);
  EXPECT_EQ(refused.code, types::error_code::BAD_POINTER);
  EXPECT_NE(refused.text.find("unit 3:"), std::string::npos) << refused.text;
  row[3] = fives + 15;
  release();
}

// The fields of a record are translated one after the other.
TEST_F(PredictionTest, APredictionIsOfOneTypeOnly) {
  int* const ints = allocate(types::primitive_type(types::Primitive::int32), 10);
  auto* const pairs = reinterpret_cast<two_pointers*>(allocate(type(&two_pointers_def), 8));
  for (int i = 0; i < 8; ++i) pairs[i] = {ints + i, nullptr};
  pairs[0].q = reinterpret_cast<double*>(ints + 2);
  CollectedDiff out;
  const Result refused = writer.collect_into(out);
  EXPECT_EQ(refused.code, types::error_code::BAD_POINTER);
  EXPECT_NE(refused.text.find("unit 1:"), std::string::npos) << refused.text;
}

// More types than are kept, many times each.
TEST_F(PredictionTest, PointersOfManyTypesTakeTurns) {
  const IW_type_def* const targets[] = {
      &IW_def_char,   &IW_def_short, &IW_def_ushort, &IW_def_int,  &IW_def_uint, &IW_def_hyper,
      &IW_def_uhyper, &IW_def_float, &IW_def_double, &IW_def_bool, &couple_def,
  };
  constexpr std::size_t kTargets = std::size(targets);
  std::vector<IW_type_def> pointers;
  std::vector<IW_field_def> fields;
  pointers.reserve(kTargets);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kTargets; ++i) names.push_back("p" + std::to_string(i));
  for (std::size_t i = 0; i < kTargets; ++i) {
    pointers.push_back(IW_POINTER_DEF("", targets[i]));
    fields.push_back({names[i].c_str(), &pointers[i], i * sizeof(void*)});
  }
  const IW_type_def def =
      IW_RECORD_DEF("many", kTargets * sizeof(void*), alignof(void*), fields.data(), kTargets);
  const IW_type_t tables[] = {&def};
  ASSERT_TRUE(registry.add(tables).ok());
  auto* const row = reinterpret_cast<std::byte**>(allocate(type(&def), kPointers));
  for (std::size_t k = 0; k < kTargets; ++k) {
    Result why;
    const types::Type* const of = registry.find(targets[k], why);
    ASSERT_NE(of, nullptr) << why.text;
    const memory::Block block = writer.allocate(*of, kPointers);
    for (std::size_t i = 0; i < kPointers; ++i) {
      row[i * kTargets + k] = block.address + i * of->size_bytes;
    }
  }
  release();
}

// A pointer to no int leads to a stub, the same one as where each pointer is looked up.
TEST_F(PredictionTest, AnIncomingPointerToNoSuchPlaceIsNotPredicted) {
  int* const odd = allocate(type(&odd_couple_def), 10);
  for (std::size_t i = 0; i < 3; ++i) holders[i].ptr = odd + 3 * i + 2;
  third_pointer_leads_to(odd, 8, {6, 7, 29, 30, 32});
}

TEST_F(PredictionTest, NorIsOneBehindABlockOfOneRecord) {
  int* const odd = allocate(type(&odd_couple_def), 1);
  for (std::size_t i = 0; i < 3; ++i) holders[i].ptr = odd + 2;
  third_pointer_leads_to(odd, 2, {0, 1, 3, 5});
}

}  // namespace
}  // namespace iw::diff
