// Rows of records and of short strings are translated as their units would be one by one.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "diff/copies_fixture.h"
#include "diff/short_string.h"

namespace iw::diff {
namespace {

using namespace types::samples;

// A size that is not a power of two, and units of a fixed length.
struct triple {
  int a, b;
  char tag[4];
};
// Numbers with padding between them.
struct padded {
  int a;
  double b;
};
// A string of any length among the rest.
struct entry {
  char kind;
  double amount;
  char title[41];
  int flag;
  triple* to;
  char code[6];
};

// Several such strings side by side.
struct family {
  int id;
  char names[3][31];
  double income;
};

IW_ALIGN_PROBE(family, family);
IW_ALIGN_PROBE(triple, triple);
IW_ALIGN_PROBE(padded, padded);
IW_ALIGN_PROBE(entry, entry);
const IW_type_def tag_def = IW_STRING_DEF("", 3);
const IW_type_def title_def = IW_STRING_DEF("", 40);
const IW_type_def code_def = IW_STRING_DEF("", 5);
const IW_field_def triple_fields[] = {
    {"a", &IW_def_int, offsetof(triple, a)},
    {"b", &IW_def_int, offsetof(triple, b)},
    {"tag", &tag_def, offsetof(triple, tag)},
};
const IW_type_def triple_def =
    IW_RECORD_DEF("triple", sizeof(triple), IW_ALIGN_OF(triple), triple_fields, 3);
const IW_field_def padded_fields[] = {
    {"a", &IW_def_int, offsetof(padded, a)},
    {"b", &IW_def_double, offsetof(padded, b)},
};
const IW_type_def padded_def =
    IW_RECORD_DEF("padded", sizeof(padded), IW_ALIGN_OF(padded), padded_fields, 2);
const IW_type_def int_pointer = IW_POINTER_DEF("", &IW_def_int);
const IW_type_def triple_pointer = IW_POINTER_DEF("", &triple_def);
const IW_field_def entry_fields[] = {
    {"kind", &IW_def_char, offsetof(entry, kind)},
    {"amount", &IW_def_double, offsetof(entry, amount)},
    {"title", &title_def, offsetof(entry, title)},
    {"flag", &IW_def_bool, offsetof(entry, flag)},
    {"to", &triple_pointer, offsetof(entry, to)},
    {"code", &code_def, offsetof(entry, code)},
};
const IW_type_def entry_def =
    IW_RECORD_DEF("entry", sizeof(entry), IW_ALIGN_OF(entry), entry_fields, 6);

const IW_type_def name_def = IW_STRING_DEF("", 30);
const IW_type_def names_def = IW_ARRAY_DEF("", sizeof(family::names), 1, &name_def, 3);
const IW_field_def family_fields[] = {
    {"id", &IW_def_int, offsetof(family, id)},
    {"names", &names_def, offsetof(family, names)},
    {"income", &IW_def_double, offsetof(family, income)},
};
const IW_type_def family_def =
    IW_RECORD_DEF("family", sizeof(family), IW_ALIGN_OF(family), family_fields, 3);

class RowsTest : public DiffTest {
 protected:
  RowsTest() {
    const IW_type_t tables[] = {&triple_def, &padded_def, &int_pointer, &entry_def, &family_def};
    EXPECT_TRUE(registry.add(tables).ok());
  }
};

TEST_F(RowsTest, ShortStringsOfEveryBoundAreCutAtTheirNul) {
  std::mt19937 random(1);
  for (std::uint64_t bound = 1; bound <= kWholeStringBound; ++bound) {
    const auto travels = static_cast<std::size_t>(bound);
    // Of each count, other strings are left over when many were handled together.
    for (std::size_t turn = 0; turn < 20; ++turn) {
      const std::size_t gap = turn % 2 == 0 ? 0 : 3;
      const std::size_t count = turn < 18 ? 7 + turn / 2 : 203;
      const std::size_t slot = travels + 1 + gap;
      const std::size_t apart = travels + gap;
      Bytes memory(count * slot, std::byte{0x7A});
      Bytes expected(count * apart, std::byte{0x55});
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t length = random() % 3 == 0 ? random() % (travels + 1) : travels;
        for (std::size_t k = 0; k < travels; ++k) {
          const auto byte = k < length ? static_cast<std::byte>(1 + random() % 255) : std::byte{0};
          expected[i * apart + k] = byte;
          // Old memory behind the NUL.
          memory[i * slot + k] = k > length ? static_cast<std::byte>(random()) : byte;
        }
        memory[i * slot + travels] = static_cast<std::byte>(length < travels ? random() : 0);
      }
      Bytes sent(expected.size(), std::byte{0x55});
      std::uint64_t written = count;
      ASSERT_TRUE(write_short_strings(bound, {memory.data(), slot}, {sent.data(), apart}, written));
      ASSERT_EQ(sent, expected) << "bound " << bound;
      EXPECT_TRUE(check_short_strings(bound, {sent.data(), apart}, count));
      Bytes got(memory.size(), std::byte{0x11});
      place_short_strings(bound, {sent.data(), apart}, {got.data(), slot}, count);
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(std::memcmp(&got[i * slot], &expected[i * apart], travels), 0);
        EXPECT_EQ(got[i * slot + travels], std::byte{0});
        if (gap != 0) {
          EXPECT_EQ(got[i * slot + travels + 1], std::byte{0x11});
        }
      }
    }
  }
}

TEST_F(RowsTest, AShortStringThatIsNoneIsFoundWhereverItIs) {
  for (std::uint64_t bound = 2; bound <= kWholeStringBound; ++bound) {
    const auto travels = static_cast<std::size_t>(bound);
    for (std::size_t turn = 0; turn < 19 + 22; ++turn) {
      const std::size_t strings = turn < 19 ? 19 : 22;
      const std::size_t bad = turn < 19 ? turn : turn - 19;
      Bytes memory(strings * (travels + 1), std::byte{'x'});
      for (std::size_t i = 0; i < strings; ++i) {
        if (i != bad) memory[i * (travels + 1) + travels] = std::byte{0};
      }
      Bytes sent(strings * travels);
      std::uint64_t count = strings;
      EXPECT_FALSE(
          write_short_strings(bound, {memory.data(), travels + 1}, {sent.data(), travels}, count));
      EXPECT_EQ(count, bad);
      std::fill(sent.begin(), sent.end(), std::byte{'x'});
      sent[bad * travels] = std::byte{0};
      EXPECT_FALSE(check_short_strings(bound, {sent.data(), travels}, strings));
    }
  }
}

TEST_F(RowsTest, RecordsArriveWithTheirStringsAndPointers) {
  constexpr std::size_t kCount = 777;
  Copy writer(registry);
  Copy reader(registry);
  writer.begin();
  auto* const entries = reinterpret_cast<entry*>(writer.allocate(type(&entry_def), kCount).address);
  auto* const triples =
      reinterpret_cast<triple*>(writer.allocate(type(&triple_def), kCount).address);
  std::mt19937 random(2);
  const auto fill = [&](std::size_t i) {
    entry& one = entries[i];
    one.kind = static_cast<char>(random());
    one.amount = static_cast<double>(random());
    const std::string title(random() % 41, static_cast<char>('a' + i % 26));
    std::memcpy(one.title, title.c_str(), title.size() + 1);
    one.flag = static_cast<int>(random() % 2);
    one.to = random() % 8 == 0 ? nullptr : &triples[random() % kCount];
    std::memcpy(one.code, "abcde", 1 + random() % 5);
    one.code[random() % 5] = 0;
    triples[i] = {static_cast<int>(random()), static_cast<int>(i), "xy"};
  };
  for (std::size_t i = 0; i < kCount; ++i) fill(i);
  ASSERT_TRUE(reader.apply(writer.release()).ok());
  expect_equal(writer, reader);
  // Runs that begin and end in the middle of a record.
  for (int round = 0; round < 20; ++round) {
    writer.begin(100);
    const std::size_t first = random() % kCount;
    entries[first].flag ^= 1;
    for (std::size_t i = first + 1; i < kCount && i < first + random() % 12; ++i) fill(i);
    ASSERT_TRUE(reader.apply(writer.release()).ok());
    expect_equal(writer, reader);
  }
}

TEST_F(RowsTest, AWrongFieldOfARecordThatArrivesIsRefused) {
  constexpr std::size_t kCount = 100;
  Copy writer(registry);
  writer.begin();
  auto* const entries = reinterpret_cast<entry*>(writer.allocate(type(&entry_def), kCount).address);
  auto* const there = reinterpret_cast<triple*>(writer.allocate(type(&triple_def)).address);
  for (std::size_t i = 0; i < kCount; ++i) {  // all change, so that they are one run
    std::strcpy(entries[i].title, i == 50 ? "the marked title" : "title");
    std::strcpy(entries[i].code, "code");
    entries[i].kind = 'k';
    entries[i].amount = 0.5;
    entries[i].flag = 1;
    entries[i].to = there;
  }
  const Bytes good = writer.release();
  const std::string text(reinterpret_cast<const char*>(good.data()), good.size());
  const std::size_t title = text.find("the marked title");
  ASSERT_NE(title, std::string::npos);
  const auto refused = [&](std::size_t at, int byte) {
    Bytes bad = good;
    bad[at] = static_cast<std::byte>(byte);
    Copy reader(registry);
    return reader.apply(bad).code;
  };
  using types::error_code;
  EXPECT_EQ(refused(title + 3, 'X'), error_code::OK);
  EXPECT_EQ(refused(title + 3, 0), error_code::BAD_VALUE) << "a NUL inside";
  EXPECT_EQ(refused(title - 2, 41), error_code::BAD_VALUE) << "beyond its bound";
  EXPECT_EQ(refused(title + 16, 2), error_code::BAD_VALUE) << "the flag behind it";
}

TEST_F(RowsTest, StringsSideBySideInARecordArrive) {
  constexpr std::size_t kCount = 100;
  Copy writer(registry);
  Copy reader(registry);
  writer.begin();
  auto* const families =
      reinterpret_cast<family*>(writer.allocate(type(&family_def), kCount).address);
  for (std::size_t i = 0; i < kCount; ++i) {
    families[i].id = static_cast<int>(i);
    families[i].income = static_cast<double>(i) / 2;
    for (std::size_t k = 0; k < 3; ++k) {
      const std::string name(1 + i * (k + 1) % 30, static_cast<char>('a' + k));
      std::memcpy(families[i].names[k], name.c_str(), name.size() + 1);
    }
  }
  std::memset(families[70].names[2], 'x', sizeof families[70].names[2]);
  CollectedDiff out;
  const Result refused = writer.collect_into(out);
  EXPECT_EQ(refused.code, types::error_code::BAD_VALUE);
  EXPECT_NE(refused.text.find("unit 353"), std::string::npos) << refused.text;
  families[70].names[2][20] = '\0';
  ASSERT_TRUE(reader.apply(writer.release()).ok());
  memory::Block block;
  ASSERT_TRUE(reader.heap->find(1, block));
  const auto* const got = reinterpret_cast<const family*>(block.address);
  for (std::size_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(got[i].id, families[i].id);
    EXPECT_EQ(got[i].income, families[i].income);
    for (std::size_t k = 0; k < 3; ++k) EXPECT_STREQ(got[i].names[k], families[i].names[k]);
  }
}

TEST_F(RowsTest, PaddedNumbersArriveAndTheirNeighboursStay) {
  constexpr std::size_t kCount = 500;
  Copy writer(registry);
  Copy reader(registry);
  writer.begin();
  auto* const values =
      reinterpret_cast<padded*>(writer.allocate(type(&padded_def), kCount).address);
  std::mt19937 random(4);
  for (int round = 0; round < 60; ++round) {
    if (round != 0) writer.begin(100);
    const std::size_t first = random() % kCount;
    const std::size_t end = first + random() % 12;
    for (std::size_t i = round == 0 ? 0 : first; i < kCount && (round == 0 || i < end); ++i) {
      values[i].a = static_cast<int>(random());
      values[i].b = static_cast<double>(random()) + 0.5;
    }
    ASSERT_TRUE(reader.apply(writer.release()).ok());
    memory::Block block;
    ASSERT_TRUE(reader.heap->find(1, block));
    const auto* const got = reinterpret_cast<const padded*>(block.address);
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(got[i].a, values[i].a) << "record " << i << ", round " << round;
      ASSERT_EQ(got[i].b, values[i].b) << "record " << i << ", round " << round;
      const std::byte zeros[sizeof(padded)] = {};
      const std::byte* const padding = block.address + i * sizeof(padded) + sizeof(int);
      ASSERT_EQ(std::memcmp(padding, zeros, offsetof(padded, b) - sizeof(int)), 0);
    }
  }
}

// They are taken in several parts.
TEST_F(RowsTest, LongRowsOfRecordsArriveAsTheyWere) {
  constexpr std::size_t kCount = 2000;
  Copy writer(registry);
  Copy reader(registry);
  writer.begin();
  const memory::Block block = writer.allocate(type(&triple_def), kCount);
  auto* const triples = reinterpret_cast<triple*>(block.address);
  for (std::size_t i = 0; i < kCount; ++i) {
    triples[i] = {static_cast<int>(i + 1), -static_cast<int>(i) - 1, "abc"};
    triples[i].tag[0] = static_cast<char>('a' + i % 26);
  }
  ASSERT_TRUE(reader.apply(writer.release()).ok());
  memory::Block got;
  ASSERT_TRUE(reader.heap->find(1, got));
  EXPECT_EQ(std::memcmp(got.address, block.address, block.size_bytes), 0);
  writer.begin(2);
  for (std::size_t i = 0; i < kCount; ++i) triples[i] = {0, 0, "x"};
  std::memcpy(triples[1500].tag, "long", 4);
  CollectedDiff out;
  const Result refused = writer.collect_into(out);
  EXPECT_EQ(refused.code, types::error_code::BAD_VALUE);
  EXPECT_NE(refused.text.find("unit 4502"), std::string::npos) << refused.text;
}

// A string of any length behind so many numbers that they take more than a short copy, and that
// few records or exactly as many as are taken together fit into the buffer.
template <std::size_t count>
struct titled {
  double numbers[count];
  char title[41];
};
IW_ALIGN_PROBE(titled_60, titled<60>);
IW_ALIGN_PROBE(titled_16, titled<16>);

TEST_F(RowsTest, RecordsOfManyNumbersAndAStringArriveAsTheyWere) {
  const auto arrive = [&]<std::size_t count>(std::size_t align,
                                             std::integral_constant<std::size_t, count>) {
    using Titled = titled<count>;
    const IW_type_def numbers_def =
        IW_ARRAY_DEF("", sizeof(Titled::numbers), alignof(double), &IW_def_double, count);
    const IW_field_def fields[] = {{"numbers", &numbers_def, offsetof(Titled, numbers)},
                                   {"title", &title_def, offsetof(Titled, title)}};
    const IW_type_def def = IW_RECORD_DEF("titled", sizeof(Titled), align, fields, 2);
    types::Registry types_here;
    const IW_type_t tables[] = {&def};
    ASSERT_TRUE(types_here.add(tables).ok());
    Result why;
    const types::Type* const of = types_here.find(&def, why);
    ASSERT_NE(of, nullptr) << why.text;
    Copy writer(types_here);
    Copy reader(types_here);
    writer.begin();
    const memory::Block block = writer.allocate(*of, 100);
    for (std::size_t i = 0; i < 100; ++i) {
      auto& one = reinterpret_cast<Titled*>(block.address)[i];
      for (std::size_t k = 0; k < count; ++k) one.numbers[k] = static_cast<double>(100 * i + k + 1);
      std::memset(one.title, 'a' + static_cast<int>(i % 26), 1 + i % 40);
    }
    ASSERT_TRUE(reader.apply(writer.release()).ok());
    memory::Block got;
    ASSERT_TRUE(reader.heap->find(1, got));
    EXPECT_EQ(std::memcmp(got.address, block.address, block.size_bytes), 0);
  };
  arrive(IW_ALIGN_OF(titled_60), std::integral_constant<std::size_t, 60>{});
  arrive(IW_ALIGN_OF(titled_16), std::integral_constant<std::size_t, 16>{});
}

// Its string is as far from the next one as strings of three are that stand side by side.
struct letter {
  char of[2];
  short behind;
};
IW_ALIGN_PROBE(letter, letter);

TEST_F(RowsTest, AStringOfOneBesideANumberArrives) {
  const IW_type_def of_def = IW_STRING_DEF("", 1);
  const IW_field_def fields[] = {{"of", &of_def, offsetof(letter, of)},
                                 {"behind", &IW_def_short, offsetof(letter, behind)}};
  const IW_type_def def = IW_RECORD_DEF("letter", sizeof(letter), IW_ALIGN_OF(letter), fields, 2);
  const IW_type_t tables[] = {&def};
  ASSERT_TRUE(registry.add(tables).ok());
  Copy writer(registry);
  Copy reader(registry);
  writer.begin();
  const memory::Block block = writer.allocate(type(&def), 40);
  for (std::size_t i = 0; i < 40; ++i) {
    reinterpret_cast<letter*>(block.address)[i] = {{i % 5 == 0 ? '\0' : 'x', '\0'},
                                                   static_cast<short>(i % 3 == 0 ? 256 : 7)};
  }
  const Result applied = reader.apply(writer.release());
  ASSERT_TRUE(applied.ok()) << applied.text;
  memory::Block got;
  ASSERT_TRUE(reader.heap->find(1, got));
  EXPECT_EQ(std::memcmp(got.address, block.address, block.size_bytes), 0);
}

struct coded {
  int id;
  char codes[3][6];
};
IW_ALIGN_PROBE(coded, coded);

TEST_F(RowsTest, AWrongStringOfSeveralInARecordIsRefusedWithItsUnit) {
  const IW_type_def codes_def = IW_ARRAY_DEF("", sizeof(coded::codes), 1, &code_def, 3);
  const IW_field_def fields[] = {{"id", &IW_def_int, offsetof(coded, id)},
                                 {"codes", &codes_def, offsetof(coded, codes)}};
  const IW_type_def def = IW_RECORD_DEF("coded", sizeof(coded), IW_ALIGN_OF(coded), fields, 2);
  const IW_type_t tables[] = {&def};
  ASSERT_TRUE(registry.add(tables).ok());
  Copy writer(registry);
  writer.begin();
  auto* const values = reinterpret_cast<coded*>(writer.allocate(type(&def), 10).address);
  for (int i = 0; i < 10; ++i) values[i] = {1, {"a", "b", "c"}};
  std::memset(values[5].codes[2], 'x', sizeof values[5].codes[2]);
  CollectedDiff out;
  const Result refused = writer.collect_into(out);
  EXPECT_EQ(refused.code, types::error_code::BAD_VALUE);
  EXPECT_NE(refused.text.find("unit 23:"), std::string::npos) << refused.text;
}

TEST_F(RowsTest, RowsOfPointersToRecordsLeadWhereTheyShould) {
  const IW_type_def node_pointer = IW_POINTER_DEF("", IW_node_t);
  const IW_type_t tables[] = {&node_pointer, &triple_pointer};
  ASSERT_TRUE(registry.add(tables).ok());
  constexpr std::size_t kCount = 100;
  for (const bool is_node : {false, true}) {
    const types::Type& of = type(is_node ? IW_node_t : &triple_def);
    const std::size_t bytes = of.size_bytes;
    Copy writer(registry);
    Copy reader(registry);
    writer.begin();
    const memory::Block row =
        writer.allocate(type(is_node ? &node_pointer : &triple_pointer), kCount);
    const memory::Block there = writer.allocate(of, kCount);
    auto* const pointers = reinterpret_cast<std::byte**>(row.address);
    for (std::size_t i = 0; i < kCount; ++i) pointers[i] = there.address + i * 7 % kCount * bytes;
    ASSERT_TRUE(reader.apply(writer.release()).ok());
    memory::Block got_row;
    memory::Block got;
    ASSERT_TRUE(reader.heap->find(1, got_row) && reader.heap->find(2, got));
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(reinterpret_cast<std::byte* const*>(got_row.address)[i],
                got.address + i * 7 % kCount * bytes)
          << of.spelled() << ' ' << i;
    }
  }
}

// Most lead into one block; some to another one, to nothing or one past the end.
TEST_F(RowsTest, RowsOfPointersLeadWhereTheyShould) {
  constexpr std::size_t kCount = 300;
  Copy writer(registry);
  Copy reader(registry);
  writer.begin();
  auto* const pointers =
      reinterpret_cast<int**>(writer.allocate(type(&int_pointer), kCount).address);
  auto* const a = reinterpret_cast<int*>(writer.allocate(type(&IW_def_int), kCount).address);
  auto* const b = reinterpret_cast<int*>(writer.allocate(type(&IW_def_int), kCount).address);
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    if (round != 0) writer.begin(100);
    const unsigned others = random() % 40 + 2;
    for (std::size_t i = 0; i < kCount; ++i) {
      pointers[i] = a + random() % (kCount + 1);
      if (random() % others == 0) pointers[i] = random() % 2 == 0 ? nullptr : b + i;
    }
    ASSERT_TRUE(reader.apply(writer.release()).ok());
    memory::Block row;
    memory::Block at_a;
    memory::Block at_b;
    ASSERT_TRUE(reader.heap->find(1, row) && reader.heap->find(2, at_a) &&
                reader.heap->find(3, at_b));
    for (std::size_t i = 0; i < kCount; ++i) {
      const auto* const got = reinterpret_cast<int* const*>(row.address)[i];
      const int* expected = nullptr;
      if (pointers[i] != nullptr) {
        const bool is_in_b = pointers[i] == b + i;
        expected = reinterpret_cast<const int*>((is_in_b ? at_b : at_a).address) +
                   (pointers[i] - (is_in_b ? b : a));
      }
      ASSERT_EQ(got, expected) << "pointer " << i << ", round " << round;
    }
  }
}

TEST_F(RowsTest, AWrongFieldOfARecordIsRefusedWithItsUnit) {
  constexpr std::size_t kCount = 400;
  Copy writer(registry);
  writer.begin();
  auto* const triples =
      reinterpret_cast<triple*>(writer.allocate(type(&triple_def), kCount).address);
  auto* const entries = reinterpret_cast<entry*>(writer.allocate(type(&entry_def), kCount).address);
  (void)writer.release();
  const auto refused = [&](types::error_code code, const std::string& where, auto store) {
    writer.begin(100);
    for (std::size_t i = 0; i < kCount; ++i) {
      entries[i].to = &triples[i];
      triples[i].a = static_cast<int>(i + 1);
      entries[i].amount = 1;
    }
    store();
    CollectedDiff out;
    const Result result = writer.collect_into(out, runs::Splicing::on);
    EXPECT_EQ(result.code, code) << result.text;
    EXPECT_NE(result.text.find(where), std::string::npos) << result.text;
    writer.abort();
  };
  using types::error_code;
  refused(error_code::BAD_VALUE, "block 1 (triple), unit 902",
          [&] { std::memcpy(triples[300].tag, "long", 4); });
  refused(error_code::BAD_VALUE, "block 2 (entry), unit 1203", [&] { entries[200].flag = 2; });
  refused(error_code::BAD_VALUE, "block 2 (entry), unit 1202",
          [&] { std::memset(entries[200].title, 'x', sizeof entries[200].title); });
  // Not the beginning of a triple, after many that were.
  refused(error_code::BAD_POINTER, "block 2 (entry), unit 2398",
          [&] { entries[399].to = reinterpret_cast<triple*>(&triples[3].b); });
  refused(error_code::BAD_POINTER, "block 2 (entry), unit 2398",
          [&] { entries[399].to = reinterpret_cast<triple*>(&entries[0]); });
}

// One past the end, and blocks in turns: what is predicted never differs from what is looked up.
TEST_F(RowsTest, PointersLeadWhereTheyLedBefore) {
  constexpr std::size_t kCount = 64;
  Copy writer(registry);
  Copy reader(registry);
  writer.begin();
  auto* const a = reinterpret_cast<node_t*>(writer.allocate(type(IW_node_t), kCount).address);
  auto* const b = reinterpret_cast<node_t*>(writer.allocate(type(IW_node_t), kCount).address);
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    if (round != 0) writer.begin(100);
    for (std::size_t i = 0; i < kCount; ++i) {
      node_t* const block = random() % 5 == 0 ? b : a;
      a[i] = {static_cast<int>(i), block + random() % kCount};
      b[i] = {round, random() % 9 == 0 ? nullptr : a + i};
    }
    ASSERT_TRUE(reader.apply(writer.release()).ok());
    memory::Block at_a;
    memory::Block at_b;
    ASSERT_TRUE(reader.heap->find(1, at_a) && reader.heap->find(2, at_b));
    for (std::size_t i = 0; i < kCount; ++i) {
      const auto& got = reinterpret_cast<node_t*>(at_a.address)[i];
      node_t* const begin = a[i].next >= b && a[i].next < b + kCount ? b : a;
      auto* const there = reinterpret_cast<node_t*>(begin == b ? at_b.address : at_a.address);
      ASSERT_EQ(got.next, there + (a[i].next - begin));
    }
    expect_equal(writer, reader);
  }
}

}  // namespace
}  // namespace iw::diff
