// How long a diff is: at most the bytes of what changed, as they travel, and 3 per cent, 8 a run
// and 64 a release. Counted are the diff's bytes themselves, not the messages around it.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "diff/copies_fixture.h"

namespace iw::diff {
namespace {

using namespace types::samples;
using types::Primitive;

// Numbers around a unit that takes more bytes where it travels than a run may cost, and in memory
// no more than splicing would join on one machine or the other.
struct around_pointer {
  double d;
  node_t* p;
  double e;
};
struct around_text {
  double d;
  char* t;
  double e;
};
struct around_sequence {
  int d;
  IW_sequence_t s;
  int e;
};
struct around_string {
  char d;
  char s[14];  // string<13>
  char e;
};

IW_ALIGN_PROBE(around_pointer, around_pointer);
IW_ALIGN_PROBE(around_text, around_text);
IW_ALIGN_PROBE(around_sequence, around_sequence);

const IW_type_def text_def = IW_TEXT_DEF("", 0);
const IW_type_def sequence_def = IW_SEQUENCE_DEF("", &IW_def_double, 0);
const IW_type_def string_def = IW_STRING_DEF("", 13);
const IW_type_def node_pointer_def = IW_POINTER_DEF("", IW_node_t);
const IW_field_def around_pointer_fields[] = {
    {"d", &IW_def_double, offsetof(around_pointer, d)},
    {"p", &node_pointer_def, offsetof(around_pointer, p)},
    {"e", &IW_def_double, offsetof(around_pointer, e)},
};
const IW_type_def around_pointer_def =
    IW_RECORD_DEF("around_pointer", sizeof(around_pointer), IW_ALIGN_OF(around_pointer),
                  around_pointer_fields, 3);
const IW_field_def around_text_fields[] = {
    {"d", &IW_def_double, offsetof(around_text, d)},
    {"t", &text_def, offsetof(around_text, t)},
    {"e", &IW_def_double, offsetof(around_text, e)},
};
const IW_type_def around_text_def = IW_RECORD_DEF("around_text", sizeof(around_text),
                                                  IW_ALIGN_OF(around_text), around_text_fields, 3);
const IW_field_def around_sequence_fields[] = {
    {"d", &IW_def_int, offsetof(around_sequence, d)},
    {"s", &sequence_def, offsetof(around_sequence, s)},
    {"e", &IW_def_int, offsetof(around_sequence, e)},
};
const IW_type_def around_sequence_def =
    IW_RECORD_DEF("around_sequence", sizeof(around_sequence), IW_ALIGN_OF(around_sequence),
                  around_sequence_fields, 3);
const IW_field_def around_string_fields[] = {
    {"d", &IW_def_char, offsetof(around_string, d)},
    {"s", &string_def, offsetof(around_string, s)},
    {"e", &IW_def_char, offsetof(around_string, e)},
};
const IW_type_def around_string_def =
    IW_RECORD_DEF("around_string", sizeof(around_string), 1, around_string_fields, 3);

// A double that is counted on changes in its upper word only.
template <typename Number>
void change_every_byte(Number& number) {
  auto* const bytes = reinterpret_cast<std::byte*>(&number);
  for (std::size_t i = 0; i < sizeof number; ++i) bytes[i] ^= std::byte{1};
}

// Values of which some units change.
struct Changing {
  std::string name;
  const types::Type* type;
  std::size_t travelling_bytes;  // of those units
  std::size_t runs;              // that they are
  bool joins_neighbours;         // the last run continues into the next value
  std::function<void(std::byte*)> change;
};

class SizeTest : public DiffTest {
 protected:
  static constexpr std::size_t kBytes = std::size_t{256} << 10;

  SizeTest() {
    const IW_type_t tables[] = {&around_pointer_def, &around_text_def, &around_sequence_def,
                                &around_string_def};
    EXPECT_TRUE(registry.add(tables).ok());
  }

  template <typename Around>
  Changing around(const char* name, IW_type_t table) {
    return {name, &type(table), sizeof(Around::d) + sizeof(Around::e), 2, true, [](std::byte* at) {
              auto* const one = reinterpret_cast<Around*>(at);
              change_every_byte(one->d);
              change_every_byte(one->e);
            }};
  }

  std::vector<Changing> all() {
    std::vector<Changing> kinds;
    const auto increase = [](std::byte* at) { *at = static_cast<std::byte>(1 + int(*at)); };
    const auto number = [&](const char* name, Primitive primitive) {
      const types::Type& one = types::primitive_type(primitive);
      kinds.push_back({name, &one, one.size_bytes, 1, true, increase});
    };
    number("char", Primitive::character);
    number("short", Primitive::int16);
    number("int", Primitive::int32);
    number("hyper", Primitive::hyper);
    number("float", Primitive::float32);
    number("double", Primitive::float64);
    const auto turn = [](std::byte* at) { *reinterpret_cast<int*>(at) ^= 1; };
    kinds.push_back({"bool", &types::primitive_type(Primitive::boolean), 4, 1, true, turn});
    kinds.push_back({"enumeration", &type(IW_colour), 4, 1, true, [](std::byte* at) {
                       int& hue = *reinterpret_cast<int*>(at);
                       hue = hue == 1 ? 2 : 1;
                     }});
    // string<20>, of five letters.
    kinds.push_back({"string", &type(IW_label), kStringLengthBytes + 5, 1, true, [](std::byte* at) {
                       const char letter = *at == std::byte{'a'} ? 'b' : 'a';
                       std::memset(at, letter, 5);
                     }});
    kinds.push_back({"number in a record", &type(IW_node_t), 4, 1, false, increase});
    kinds.push_back({"pointer in a record", &type(IW_node_t), swizzle::kWirePointerBytes, 1, false,
                     [](std::byte* at) {
                       auto* const node = reinterpret_cast<node_t*>(at);
                       node->next = node->next == nullptr ? node : nullptr;
                     }});
    kinds.push_back({"union", &type(IW_shape), 8, 1, true, [](std::byte* at) {
                       auto* const one = reinterpret_cast<shape*>(at);
                       one->kind = 1;
                       ++one->u.radius;
                     }});
    kinds.push_back(around<around_pointer>("around a pointer", &around_pointer_def));
    kinds.push_back(around<around_text>("around a text", &around_text_def));
    kinds.push_back(around<around_sequence>("around a sequence", &around_sequence_def));
    kinds.push_back(around<around_string>("around a string", &around_string_def));
    return kinds;
  }

  // Changes the values of these numbers, ascending, and says what the diff may take at most.
  static double change(const Changing& kind, std::byte* values,
                       const std::vector<std::size_t>& numbers) {
    std::size_t runs = 0;
    std::size_t before = ~std::size_t{0} - 1;
    for (const std::size_t number : numbers) {
      kind.change(values + number * kind.type->size_bytes);
      runs += kind.runs - (kind.joins_neighbours && number == before + 1 ? 1 : 0);
      before = number;
    }
    const auto changed = static_cast<double>(numbers.size() * kind.travelling_bytes);
    return 1.03 * changed + 8.0 * static_cast<double>(runs) + 64.0;
  }

  // One release for each set of numbers; the copies agree afterwards.
  void releases(const Changing& kind,
                const std::function<std::vector<std::size_t>(std::size_t, std::size_t)>& numbers) {
    SCOPED_TRACE(kind.name);
    Copy writer(registry);
    Copy reader(registry);
    writer.begin();
    const std::size_t count = kBytes / kind.type->size_bytes;
    const memory::Block block = writer.allocate(*kind.type, count);
    std::vector<std::size_t> every;
    for (std::size_t i = 0; i < count; ++i) every.push_back(i);
    (void)change(kind, block.address, every);
    ASSERT_TRUE(reader.apply(writer.release()).ok());
    for (std::size_t part = 1; part <= 4096; part *= 2) {
      writer.begin(2);
      const double most = change(kind, block.address, numbers(count, part));
      const Bytes diff = writer.release();
      EXPECT_LE(static_cast<double>(diff.size()), most) << "1 in " << part;
      ASSERT_TRUE(reader.apply(diff).ok());
    }
    expect_equal(writer, reader);
  }
};

TEST_F(SizeTest, OneRunOfEveryLengthIsSentWithLittleMore) {
  for (const Changing& kind : all()) {
    releases(kind, [](std::size_t count, std::size_t part) {
      std::vector<std::size_t> numbers;
      const std::size_t first = (count - count / part) / 2;
      for (std::size_t i = 0; i < count / part; ++i) numbers.push_back(first + i);
      return numbers;
    });
  }
}

TEST_F(SizeTest, ValuesAtEqualDistancesAreSentWithLittleMore) {
  for (const Changing& kind : all()) {
    releases(kind, [](std::size_t count, std::size_t part) {
      std::vector<std::size_t> numbers;
      for (std::size_t i = part / 2; i < count; i += part) numbers.push_back(i);
      return numbers;
    });
  }
}

TEST_F(SizeTest, ScatteredValuesAreSentWithLittleMore) {
  std::mt19937 random(11);
  for (const Changing& kind : all()) {
    releases(kind, [&](std::size_t count, std::size_t part) {
      std::vector<std::size_t> numbers;
      for (std::size_t i = 0; i < count; ++i) {
        if (random() % part == 0) numbers.push_back(i);
      }
      return numbers;
    });
  }
}

TEST_F(SizeTest, AnUnchangedPointerBetweenChangedNumbersStaysHere) {
  Copy writer(registry);
  Copy reader(registry);
  writer.begin();
  const memory::Block node = writer.allocate(type(IW_node_t));
  const memory::Block block = writer.allocate(type(&around_pointer_def), 4);
  auto* const values = reinterpret_cast<around_pointer*>(block.address);
  for (int i = 0; i < 4; ++i) values[i].p = reinterpret_cast<node_t*>(node.address);
  ASSERT_TRUE(reader.apply(writer.release()).ok());

  writer.begin(3);
  for (int i = 0; i < 4; ++i) {
    change_every_byte(values[i].d);
    change_every_byte(values[i].e);
  }
  const Bytes diff = writer.release();
  EXPECT_EQ(writer.last.runs, 5u);
  EXPECT_EQ(writer.last.units, 8u);
  // The header; the tags and lengths of CHANGES and of the block; the runs' heads and numbers.
  EXPECT_EQ(diff.size(), 7u + 2 + 2 + 5 * 2 + 8 * sizeof(double));
  ASSERT_TRUE(reader.apply(diff).ok());
  expect_equal(writer, reader);
}

TEST_F(SizeTest, PointersAreLookedForInTheBlocksOfEachType) {
  Copy writer(registry);
  writer.begin();
  const memory::Block node = writer.allocate(type(IW_node_t));
  const memory::Block pairs = writer.allocate(type(IW_pair_t), 2);
  const memory::Block block = writer.allocate(type(&around_pointer_def), 4);
  auto* const values = reinterpret_cast<around_pointer*>(block.address);
  for (int i = 0; i < 4; ++i) values[i].p = reinterpret_cast<node_t*>(node.address);
  (void)writer.release();

  writer.begin(4);
  for (int i = 0; i < 2; ++i) change_every_byte(reinterpret_cast<pair_t*>(pairs.address)[i].x);
  for (int i = 0; i < 4; ++i) {
    change_every_byte(values[i].d);
    change_every_byte(values[i].e);
  }
  (void)writer.release();
  EXPECT_EQ(writer.last.runs, 1u + 5);
  EXPECT_EQ(writer.last.units, 3u + 8);
}

TEST_F(SizeTest, AChangedPointerInAGapTravelsAndItsEqualNeighboursDoNot) {
  Copy writer(registry);
  Copy reader(registry);
  writer.begin();
  const memory::Block block = writer.allocate(type(&around_pointer_def), 3);
  auto* const values = reinterpret_cast<around_pointer*>(block.address);
  ASSERT_TRUE(reader.apply(writer.release()).ok());

  writer.begin(2);
  const memory::Block node = writer.allocate(type(IW_node_t));
  for (int i = 0; i < 3; ++i) {
    change_every_byte(values[i].d);
    change_every_byte(values[i].e);
  }
  values[1].p = reinterpret_cast<node_t*>(node.address);
  const Bytes diff = writer.release();
  EXPECT_EQ(writer.last.runs, 3u);
  EXPECT_EQ(writer.last.units, 7u);
  ASSERT_TRUE(reader.apply(diff).ok());
  expect_equal(writer, reader);
}

}  // namespace
}  // namespace iw::diff
