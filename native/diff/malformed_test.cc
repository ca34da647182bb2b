// Diffs that are wrong are refused before anything has changed [DIFF-1].
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "diff/copies_fixture.h"
#include "diff/random_values.h"
#include "platform/memory.h"

namespace iw::diff {
namespace {

using namespace types::samples;
using types::error_code;

// A union without a default arm.
struct either {
  int kind;
  union {
    int a;
    double b;
  } u;
};

IW_ALIGN_PROBE(either, either);
const IW_field_def either_discriminant[] = {{"kind", &IW_def_int, offsetof(either, kind)}};
const int32_t a_values[] = {1};
const int32_t b_values[] = {2};
const IW_arm_def either_arms[] = {{"a", &IW_def_int, offsetof(either, u.a), a_values, 1},
                                  {"b", &IW_def_double, offsetof(either, u.b), b_values, 1}};
const IW_type_def either_def = IW_UNION_DEF("either", sizeof(either), IW_ALIGN_OF(either),
                                            either_discriminant, either_arms, 2, nullptr);

class MalformedDiffTest : public DiffTest {
 protected:
  MalformedDiffTest() : writer(registry), reader(registry) {
    writer.begin();
    (void)writer.allocate(type(IW_node_t), 4, "nodes");                          // 1
    (void)writer.allocate(type(IW_everything), 2, "all");                        // 2
    (void)writer.allocate(type(IW_colour), 3);                                   // 3
    (void)writer.allocate(types::primitive_type(types::Primitive::boolean), 3);  // 4
    first = writer.release();
    EXPECT_TRUE(reader.apply(first).ok());
    label = writer.types.serial_of(type(IW_node_t));
  }

  // Everything about the reader's copy that a test can see.
  Bytes seen() {
    Bytes out;
    for (const memory::Block& block : reader.blocks()) {
      const std::string name = reader.heap->name_of(block.serial);
      for (const char c : name) out.push_back(static_cast<std::byte>(c));
      out.insert(out.end(), block.address, block.end());
      out.push_back(static_cast<std::byte>(block.is_reserved));
    }
    out.push_back(static_cast<std::byte>(reader.types.next_serial()));
    out.push_back(static_cast<std::byte>(reader.slots.size()));
    return out;
  }

  // A diff from 1 to 2 with these bytes behind its header.
  static Bytes diff(std::initializer_list<int> sections) {
    Bytes out;
    for (const int byte : {0x49, 0x57, 0x44, 0x31, 0, 1, 2}) out.push_back(std::byte(byte));
    for (const int byte : sections) out.push_back(static_cast<std::byte>(byte));
    return out;
  }

  void refused(const Bytes& bytes, error_code code = error_code::MALFORMED) {
    const Bytes before = seen();
    const Result result = reader.apply(bytes);
    EXPECT_EQ(result.code, code) << result.text;
    EXPECT_EQ(seen(), before);
  }
  // Also for that reason.
  void refused_as(const std::string& why, const Bytes& bytes,
                  error_code code = error_code::MALFORMED) {
    refused(bytes, code);
    Update update;
    const Result result = Update::read(bytes, reader.parts(), reader.limits, update);
    EXPECT_NE(result.text.find(why), std::string::npos) << result.text << ", not: " << why;
  }
  [[nodiscard]] bool is_good(const Bytes& bytes) {
    Update update;
    return Update::read(bytes, reader.parts(), reader.limits, update).ok();
  }

  Copy writer;
  Copy reader;
  Bytes first;
  std::uint32_t label = 0;
};

TEST_F(MalformedDiffTest, HeadersThatAreNone) {
  refused({});
  refused(Bytes(7, std::byte{0}));
  Bytes flags = diff({});
  flags[4] = std::byte{2};
  refused(flags);
  Bytes back = diff({});
  back[6] = std::byte{0};
  refused(back);
  Bytes overlong = diff({});
  overlong.insert(overlong.begin() + 5, std::byte{0x80});
  overlong[6] = std::byte{0};
  refused(overlong);
}

// One section of these numbers and bytes.
Bytes section(Tag tag, std::initializer_list<std::uint64_t> numbers, const Bytes& rest = {}) {
  Bytes body;
  for (const std::uint64_t number : numbers) put_number(body, number);
  body.insert(body.end(), rest.begin(), rest.end());
  Bytes out;
  for (const int byte : {0x49, 0x57, 0x44, 0x31, 0, 1, 2}) out.push_back(std::byte(byte));
  put_section(out, tag, body);
  return out;
}

constexpr const char* kCut = "it ends in the middle, or a number is not in its shortest form";

TEST_F(MalformedDiffTest, AHeaderThatIsCutOrNotInShortestFormIsRefused) {
  const Bytes header = diff({});
  EXPECT_TRUE(is_good(header));
  for (std::size_t size = 4; size < header.size(); ++size) {
    refused_as(kCut, Bytes(header.begin(), header.begin() + static_cast<std::ptrdiff_t>(size)));
  }
  for (const std::size_t at : {std::size_t{5}, std::size_t{6}}) {
    Bytes overlong = header;
    overlong[at] = std::byte{0x80};
    overlong.insert(overlong.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::byte{0});
    refused_as(kCut, overlong);
  }
  Bytes flags = header;
  flags[4] = std::byte{2};
  refused_as("unknown flags", flags);
  Bytes same = header;
  same[6] = std::byte{1};
  EXPECT_TRUE(is_good(same)) << "a diff may lead to its own version";
}

TEST_F(MalformedDiffTest, ANumberThatIsCutOrNotInShortestFormIsRefusedWhereverItIs) {
  // The numbers of one entry.
  const std::pair<Tag, std::vector<std::uint64_t>> entries[] = {
      {Tag::slots, {1, 0}},         {Tag::freed, {2}},      {Tag::live, {1, 4}},
      {Tag::blocks, {40, 5, 1, 0}}, {Tag::changes, {8, 0}},
  };
  for (const auto& [tag, numbers] : entries) {
    for (std::size_t bad = 0; bad < numbers.size(); ++bad) {
      SCOPED_TRACE(std::to_string(static_cast<int>(tag)) + ", number " + std::to_string(bad));
      Bytes before;
      for (std::size_t i = 0; i < bad; ++i) put_number(before, numbers[i]);
      Bytes overlong = before;
      std::byte bytes[kMaxVarintBytes];
      const std::size_t count = put_varint(numbers[bad], bytes);
      bytes[count - 1] |= std::byte{0x80};
      overlong.insert(overlong.end(), bytes, bytes + count);
      Bytes cut = overlong;  // within the number
      overlong.push_back(std::byte{0});
      for (std::size_t i = bad + 1; i < numbers.size(); ++i) put_number(overlong, numbers[i]);
      refused_as(kCut, section(tag, {}, overlong));
      refused_as(kCut, section(tag, {}, cut));
      if (bad > 0 && tag != Tag::slots) refused_as(kCut, section(tag, {}, before));
    }
  }
  refused_as(kCut, section(Tag::slots, {}));
  refused_as(kCut, section(Tag::slots, {1, 3}, Bytes(2, std::byte{'/'})));
  refused_as(kCut, section(Tag::blocks, {40, 5, 1, 3}, Bytes(2, std::byte{'x'})));
  refused_as(kCut, section(Tag::changes, {8, 3, 0, 1}));
  refused_as(kCut, diff({6, 9, 8, 7, 0x80, 0, 1, 1, 0, 0, 0}));  // a run's gap
  refused_as(kCut, diff({6, 9, 8, 7, 0, 0x81, 0, 1, 0, 0, 0}));  // and its count
  refused_as(kCut, diff({6, 3, 8, 1, 0}));
}

TEST_F(MalformedDiffTest, WhatIsWrongWithAValueIsSaid) {
  const IW_type_t tables[] = {&either_def};
  ASSERT_TRUE(registry.add(tables).ok());
  ASSERT_TRUE(reader.apply(diff({2, 4, 1, 2, '/', 'a'})).ok());
  writer.begin(5);
  (void)writer.allocate(type(&either_def), 2);
  ASSERT_TRUE(reader.apply(writer.release()).ok());
  // One unit of a block.
  const auto unit = [](std::uint64_t serial, std::uint64_t at, const std::vector<int>& bytes) {
    Bytes run;
    put_number(run, at);
    put_number(run, 1);
    for (const int byte : bytes) run.push_back(static_cast<std::byte>(byte));
    return section(Tag::changes, {2 * serial, run.size()}, run);
  };
  const auto string = [](std::size_t length) {
    std::vector<int> bytes{static_cast<int>(length), 0};
    bytes.insert(bytes.end(), length, 'x');
    return bytes;
  };
  const auto pointer = [](int slot, int serial, int at) {
    return std::vector<int>{slot, 0, serial, 0, 0, 0, 0, 0, at, 0, 0, 0, 0, 0, 0, 0};
  };
  constexpr auto kValue = error_code::BAD_VALUE;
  constexpr auto kPointer = error_code::BAD_POINTER;
  // Of `everything`: 5 flag, 6 hue, 9 tag, 10 title, 11 a shape, 23 first, 25 values, 26 remark.
  refused_as("bool that is not one of the type's values", unit(2, 5, {2, 0, 0, 0}), kValue);
  refused_as("is not one of the type's values", unit(2, 6, {3, 0, 0, 0}), kValue);
  EXPECT_TRUE(is_good(unit(2, 6, {0, 0, 0, 0}))) << "zero is memory that was never written";
  refused_as("has bytes behind its NUL", unit(2, 9, {'a', 0, 'b', 0, 0, 0, 0, 0}), kValue);
  EXPECT_TRUE(is_good(unit(2, 10, string(40))));
  EXPECT_TRUE(is_good(unit(2, 10, string(0))));
  refused_as("is beyond its bound", unit(2, 10, string(41)), kValue);
  refused_as("has a NUL inside", unit(2, 10, {3, 0, 'a', 0, 'b'}), kValue);
  refused_as("has a discriminant that selects nothing", unit(5, 0, {3, 0, 0, 0}), kValue);
  EXPECT_TRUE(is_good(unit(5, 0, {1, 0, 0, 0, 9, 9, 9, 9})));
  EXPECT_TRUE(is_good(unit(2, 11, {-1, -1, -1, -1}))) << "an arm without a value";
  EXPECT_TRUE(is_good(unit(2, 23, pointer(1, 7, 3))));
  EXPECT_TRUE(is_good(unit(2, 23, pointer(0, 77, 3)))) << "whether the block exists is not checked";
  refused_as("leads to no block of a known segment", unit(2, 23, pointer(2, 7, 3)), kPointer);
  refused_as("leads to no block of a known segment", unit(2, 23, pointer(1, 0, 3)), kPointer);
  EXPECT_TRUE(is_good(unit(2, 25, pointer(0, 7, 0))));
  EXPECT_TRUE(is_good(unit(2, 25, pointer(0, 0, 0))));
  refused_as("is not in a block of its own", unit(2, 25, pointer(1, 7, 0)), kPointer);
  refused_as("is not in a block of its own", unit(2, 26, pointer(0, 7, 1)), kPointer);
  // Too few bytes, in each kind of unit.
  constexpr const char* kFew = "a diff's run has fewer bytes than its units take";
  for (const Bytes& bytes :
       {unit(2, 5, {0, 0, 0}), unit(2, 9, {'a'}), unit(2, 10, {3}), unit(2, 10, {3, 0, 'a', 'b'}),
        unit(5, 0, {1, 0, 0}), unit(5, 0, {1, 0, 0, 0, 9}), unit(2, 23, {0, 0, 1, 0})}) {
    refused_as(kFew, bytes);
  }
}

TEST_F(MalformedDiffTest, SectionsThatAreNone) {
  refused(diff({0, 0}));
  refused(diff({7, 0}));
  refused(diff({5, 0, 5, 0}));
  refused(diff({6, 0, 5, 0}));
  refused(diff({6, 1}));
  refused(diff({6}));
}

TEST_F(MalformedDiffTest, FreesThatCannotBe) {
  refused(diff({3, 1, 18}));                                           // block 9 does not exist
  refused(diff({3, 2, 2, 0}));                                         // twice
  refused(diff({3, 1, 2, 4, 2, 1, 1}));                                // FREED and LIVE
  refused(diff({4, 2, 1, 0}));                                         // an empty range
  refused(diff({4, 2, 0, 1}));                                         // serial 0
  refused(diff({4, 8, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F}));  // beyond 2^48
}

TEST_F(MalformedDiffTest, LiveRangesEndAtTheLargestSerial) {
  constexpr std::uint64_t kMost = memory::kMaxSerial;
  EXPECT_TRUE(is_good(section(Tag::live, {1, kMost})));
  EXPECT_TRUE(is_good(section(Tag::live, {1, 2, 0, kMost - 2})));
  EXPECT_TRUE(is_good(section(Tag::live, {1, 2, kMost - 3, 1})));
  EXPECT_TRUE(is_good(section(Tag::live, {1, 2, 3, 1})));
  for (const Bytes& beyond :
       {section(Tag::live, {1, kMost + 1}), section(Tag::live, {kMost + 1, 1}),
        section(Tag::live, {kMost + 2, 1}), section(Tag::live, {1, 2, 0, kMost - 1}),
        section(Tag::live, {1, 2, kMost - 2, 1}), section(Tag::live, {1, 2, kMost, 1}),
        section(Tag::live, {1, 2, 1, 0})}) {
    refused_as("a range of live serials", beyond);
  }
}

TEST_F(MalformedDiffTest, OnlyBlocksThatLiveMayChangeAndOnlyOthersMayBeCreated) {
  writer.begin(5);
  for (int i = 0; i < 6; ++i) {
    (void)writer.allocate(types::primitive_type(types::Primitive::character), 1);
  }
  ASSERT_TRUE(reader.apply(writer.release()).ok());  // 5 to 10
  // LIVE: 6..7 and 9.
  const auto with = [](Tag tag, const Bytes& body) {
    Bytes out = section(Tag::live, {6, 2, 1, 1});
    put_section(out, tag, body);
    return out;
  };
  for (std::uint64_t serial = 5; serial <= 10; ++serial) {
    Bytes change;
    for (const std::uint64_t number : {2 * serial, std::uint64_t{3}}) put_number(change, number);
    for (const int byte : {0, 1, 65}) change.push_back(static_cast<std::byte>(byte));
    const bool lives = serial == 6 || serial == 7 || serial == 9;
    EXPECT_EQ(is_good(with(Tag::changes, change)), lives) << serial;
    if (!lives) refused_as("a block changes that does not exist", with(Tag::changes, change));
    Bytes block;
    for (const std::uint64_t number : {2 * serial, std::uint64_t{5}, std::uint64_t{1}}) {
      put_number(block, number);
    }
    put_number(block, 0);
    refused_as(lives ? "a block is created that exists already" : "a block is freed and created",
               with(Tag::blocks, block));
  }
}

TEST_F(MalformedDiffTest, MetadataFreesNothingAndNobodyFreesTwice) {
  for (Bytes bytes : {section(Tag::freed, {2}), section(Tag::live, {1, 3})}) {
    EXPECT_TRUE(is_good(bytes));
    bytes[4] = std::byte{kMetadataOnly};
    refused_as("metadata frees blocks", bytes);
  }
  refused_as("a block is freed twice", section(Tag::freed, {2, 2, 1}));  // 1, 2, 1
  refused_as("a block is freed that does not exist", section(Tag::freed, {18}));
}

TEST_F(MalformedDiffTest, ACompleteCopyGivesAllSlotsAndFreesNothing) {
  Bytes bytes = section(Tag::slots, {1, 2}, {std::byte{'/'}, std::byte{'a'}});
  bytes[5] = std::byte{0};
  EXPECT_TRUE(is_good(bytes));
  bytes = section(Tag::slots, {2, 2}, {std::byte{'/'}, std::byte{'a'}});
  bytes[5] = std::byte{0};
  refused_as("a complete copy gives the slots from the first one on", bytes);
  bytes = section(Tag::freed, {2});
  bytes[5] = std::byte{0};
  refused_as("a block is freed that does not exist", bytes);
}

TEST_F(MalformedDiffTest, TheSlotsOfACompleteCopyTakeThePlaceOfThoseBefore) {
  ASSERT_TRUE(reader.apply(diff({2, 4, 1, 2, '/', 'a'})).ok());
  Bytes bytes = section(Tag::slots, {1, 2}, {std::byte{'/'}, std::byte{'b'}});
  bytes[5] = std::byte{0};
  ASSERT_TRUE(reader.apply(bytes).ok());
  ASSERT_EQ(reader.slots.size(), 1U);
  EXPECT_EQ(*reader.slots.text_of(1), "/b");
  bytes.back() = std::byte{'#'};
  refused(bytes);
  bytes.resize(7);
  ASSERT_TRUE(reader.apply(bytes).ok());
  EXPECT_EQ(reader.slots.size(), 0U);
}

TEST_F(MalformedDiffTest, ACompleteCopyChangesOnlyBlocksThatItGives) {
  const Bytes change{std::byte{8}, std::byte{6}, std::byte{0}, std::byte{1},
                     std::byte{1}, std::byte{0}, std::byte{0}, std::byte{0}};
  Bytes bytes = section(Tag::changes, {}, change);
  EXPECT_TRUE(is_good(bytes));
  bytes[5] = std::byte{0};
  refused_as("a block changes that does not exist", bytes);
  memory::Block reserved;
  ASSERT_TRUE(reader.heap->reserve(5, type(IW_node_t), 1, "", reserved).ok());
  refused_as("a block changes that does not exist", section(Tag::changes, {10, 2, 0, 1}));
}

TEST_F(MalformedDiffTest, ATypeThatIsCutIsRefused) {
  const IW_type_t tables[] = {&either_def};
  ASSERT_TRUE(registry.add(tables).ok());
  writer.begin(5);
  (void)writer.allocate(type(&either_def));
  const Bytes good = writer.release();
  ASSERT_TRUE(is_good(good));
  Reader reading(std::span<const std::byte>(good).subspan(7));
  std::uint8_t tag = 0;
  std::uint64_t bytes = 0;
  Reader body;
  ASSERT_TRUE(reading.u8(tag) && reading.varint(bytes) && reading.take(bytes, body));
  ASSERT_EQ(tag, static_cast<std::uint8_t>(Tag::types));
  for (std::uint64_t kept = 4; kept < bytes; kept += 4) {
    refused(section(Tag::types, {}, Bytes(body.at(), body.at() + kept)));
  }
}

TEST_F(MalformedDiffTest, BlocksAtTheBoundsOfTheirNumbers) {
  const std::uint64_t byte_type =
      reader.types.serial_of(types::primitive_type(types::Primitive::character));
  const auto block = [](std::uint64_t serial, std::uint64_t type, std::uint64_t count) {
    return section(Tag::blocks, {2 * serial, type, count, 0});
  };
  EXPECT_TRUE(is_good(block(memory::kMaxSerial, byte_type, 1)));
  refused_as("a block's serial is not from 1 to", block(memory::kMaxSerial + 1, byte_type, 1));
  refused_as("is of a type that the segment does not have", block(20, UINT32_MAX, 1));
  refused_as("is of a type that the segment does not have",
             block(20, byte_type + (std::uint64_t{1} << 32), 1));
  refused_as("larger than the segment may be", block(20, byte_type, types::kMaxUnits),
             error_code::TOO_LARGE);
  refused_as("more than 2^40 units", block(20, byte_type, types::kMaxUnits + 1));
  refused_as("more than 2^40 units", block(20, label, types::kMaxUnits / 2 + 1));
  reader.limits.new_bytes = 100;
  EXPECT_TRUE(is_good(block(20, byte_type, 100)));
  // 10: doubles
  EXPECT_TRUE(is_good(section(Tag::blocks, {40, 10, 6, 0, 2, 10, 6, 0})));
  refused_as("larger than the segment may be", section(Tag::blocks, {40, 10, 6, 0, 2, 10, 7, 0}),
             error_code::TOO_LARGE);
  EXPECT_TRUE(is_good(section(Tag::blocks, {40, byte_type, 60, 0, 2, byte_type, 40, 0})));
  refused_as("larger than the segment may be",
             section(Tag::blocks, {40, byte_type, 60, 0, 2, byte_type, 41, 0}),
             error_code::TOO_LARGE);
}

TEST_F(MalformedDiffTest, BlocksThatCannotBe) {
  refused(diff({5, 4, 0, 5, 1, 0}));                                            // serial 0
  refused(diff({5, 4, 2, 5, 1, 0}));                                            // block 1 exists
  refused(diff({5, 4, 40, 63, 1, 0}));                                          // no such type
  refused(diff({5, 4, 40, 5, 0, 0}));                                           // no values
  refused(diff({5, 8, 40, 5, 1, 0, 0, 5, 1, 0}));                               // twice
  refused(diff({5, 11, 40, 10, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0}));  // 2^49 values
  refused(diff({5, 10, 40, 10, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x1F, 0}),
          error_code::MALFORMED);  // a length too long for its section
  refused(diff({5, 10, 40, 10, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x1F, 1, 'x'}),
          error_code::TOO_LARGE);  // 2^40 - 1 doubles
  refused(diff({5, 5, 40, 5, 1, 1, '1'}), error_code::BAD_NAME);
  refused(diff({5, 9, 40, 5, 1, 5, 'n', 'o', 'd', 'e', 's'}), error_code::BAD_NAME);
  refused(diff({5, 10, 40, 5, 1, 1, 'x', 2, 5, 1, 1, 'x'}), error_code::BAD_NAME);
  refused(diff({3, 1, 2, 5, 4, 2, 5, 1, 0}));  // freed and created
}

TEST_F(MalformedDiffTest, ChangesThatCannotBe) {
  refused(diff({6, 2, 18, 0}));                                            // block 9 does not exist
  refused(diff({6, 8, 2, 6, 0, 1, 1, 0, 0, 0, 0}));                        // bytes of no section
  refused(diff({6, 8, 6, 6, 0, 1, 9, 0, 0, 0}), error_code::BAD_VALUE);    // no colour
  refused(diff({6, 8, 8, 6, 0, 1, 2, 0, 0, 0}), error_code::BAD_VALUE);    // no bool
  refused(diff({6, 4, 8, 2, 0, 0}));                                       // an empty run
  refused(diff({6, 8, 8, 6, 3, 1, 1, 0, 0, 0}));                           // beyond the block
  refused(diff({6, 7, 8, 5, 0, 1, 1, 0, 0}));                              // too few bytes
  refused(diff({6, 9, 8, 7, 0, 1, 1, 0, 0, 0, 0}));                        // too many
  refused(diff({6, 16, 8, 6, 0, 1, 1, 0, 0, 0, 0, 6, 0, 1, 1, 0, 0, 0}));  // a block twice
  refused_as("a block's changes come twice",                               // 4, 3, 4
             diff({6, 24, 8, 6, 0, 1, 1, 0, 0, 0, 1, 6, 0, 1, 1, 0, 0, 0, 2, 6, 0, 1, 1, 0, 0, 0}));
  refused(diff({3, 1, 8, 6, 8, 8, 6, 0, 1, 1, 0, 0, 0}));  // freed
  // The pointer of node 0: slot 1 is not there; serial 0 with an offset.
  refused(diff({6, 20, 2, 18, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
          error_code::BAD_POINTER);
  refused(diff({6, 20, 2, 18, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}),
          error_code::BAD_POINTER);
  EXPECT_TRUE(reader.apply(diff({6, 8, 8, 6, 0, 1, 1, 0, 0, 0})).ok()) << "a good one is applied";
}

TEST_F(MalformedDiffTest, SlotsThatCannotBe) {
  refused(diff({2, 2, 2, 0}));
  refused(diff({2, 1, 0}));
  refused(diff({2, 3, 1, 1, '#'}));
  refused(diff({2, 3, 1, 9, '/'}));
  EXPECT_TRUE(reader.apply(diff({2, 4, 1, 2, '/', 'a'})).ok());
  EXPECT_EQ(*reader.slots.text_of(1), "/a");
}

TEST_F(MalformedDiffTest, EachOfManyTextsIsInABlockOfItsOwn) {
  const IW_type_def text_def = IW_TEXT_DEF("", 0);
  const IW_type_t tables[] = {&text_def};
  ASSERT_TRUE(registry.add(tables).ok());
  writer.begin(5);
  (void)writer.allocate(type(&text_def), 3);
  ASSERT_TRUE(reader.apply(writer.release()).ok());
  const auto texts = [](int serial, int unit) {
    Bytes run(2 + 3 * swizzle::kWirePointerBytes);
    run[1] = std::byte{3};
    for (std::size_t i = 0; i < 3; ++i) run[2 + 16 * i + 2] = std::byte{7};
    run[2 + 16 + 2] = static_cast<std::byte>(serial);
    run[2 + 16 + 8] = static_cast<std::byte>(unit);
    return section(Tag::changes, {10, run.size()}, run);
  };
  EXPECT_TRUE(is_good(texts(7, 0)));
  refused_as("is not in a block of its own", texts(7, 1), error_code::BAD_POINTER);
  refused_as("is not in a block of its own", texts(8, 1), error_code::BAD_POINTER);
}

struct counted {
  node_t* to;
  std::int64_t count;
};
IW_ALIGN_PROBE(counted, counted);

// Between the pointers lies what would pass for more of them, if they were side by side.
TEST_F(MalformedDiffTest, EachPointerOfManyRecordsIsLookedAt) {
  const IW_type_def pointer_def = IW_POINTER_DEF("", IW_node_t);
  const IW_field_def fields[] = {{"to", &pointer_def, offsetof(counted, to)},
                                 {"count", &IW_def_hyper, offsetof(counted, count)}};
  const IW_type_def def =
      IW_RECORD_DEF("counted", sizeof(counted), IW_ALIGN_OF(counted), fields, 2);
  const IW_type_t tables[] = {&def};
  ASSERT_TRUE(registry.add(tables).ok());
  writer.begin(5);
  (void)writer.allocate(type(&def), 40);
  ASSERT_TRUE(reader.apply(writer.release()).ok());
  const auto records = [](std::size_t other, int slot) {
    constexpr std::size_t kRecordBytes = 24;
    Bytes values(40 * kRecordBytes);
    for (std::size_t at = 2; at < values.size(); at += 8) values[at] = std::byte{7};
    values[other * kRecordBytes] = static_cast<std::byte>(slot);
    Bytes run;
    put_number(run, 0);
    put_number(run, 80);
    run.insert(run.end(), values.begin(), values.end());
    return section(Tag::changes, {10, run.size()}, run);
  };
  for (std::size_t other = 0; other < 40; ++other) {
    EXPECT_TRUE(is_good(records(other, 0)));
    refused_as("leads to no block of a known segment", records(other, 9), error_code::BAD_POINTER);
  }
}

TEST_F(MalformedDiffTest, AUnionThatSelectsNothingIsNotSent) {
  const IW_type_t tables[] = {&either_def};
  ASSERT_TRUE(registry.add(tables).ok());
  writer.begin(5);
  const memory::Block block = writer.allocate(type(&either_def), 4);
  reinterpret_cast<either*>(block.address)[2].kind = 3;
  CollectedDiff out;
  const Result result = writer.collect_into(out);
  EXPECT_EQ(result.code, error_code::BAD_VALUE);
  EXPECT_NE(result.text.find("unit 2: a either has a discriminant that selects nothing"),
            std::string::npos)
      << result.text;
}

// Bytes behind which memory cannot be read.
class AtTheEndOfMemory {
 public:
  explicit AtTheEndOfMemory(const Bytes& bytes) {
    const std::size_t whole = platform::round_up_to_page(bytes.size());
    EXPECT_TRUE(platform::reserve(whole + platform::page_size(), nullptr,
                                  platform::Placement::if_free, memory_)
                    .ok());
    EXPECT_TRUE(platform::protect(memory_.begin(), whole, platform::Protection::read_write).ok());
    bytes_ = {memory_.begin() + whole - bytes.size(), bytes.size()};
    std::memcpy(memory_.begin() + whole - bytes.size(), bytes.data(), bytes.size());
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  platform::Mapping memory_;
  std::span<const std::byte> bytes_;
};

struct captioned {
  char kind;
  char title[41];
  char behind;
};
IW_ALIGN_PROBE(captioned, captioned);

TEST_F(MalformedDiffTest, NoByteBehindADiffIsRead) {
  const IW_type_def tag_def = IW_STRING_DEF("", 3);
  const IW_type_def title_def = IW_STRING_DEF("", 40);
  const IW_type_def pointer_def = IW_POINTER_DEF("", IW_node_t);
  const IW_type_def text_def = IW_TEXT_DEF("", 0);
  const IW_field_def fields[] = {{"kind", &IW_def_char, offsetof(captioned, kind)},
                                 {"title", &title_def, offsetof(captioned, title)},
                                 {"behind", &IW_def_char, offsetof(captioned, behind)}};
  const IW_type_def captioned_def =
      IW_RECORD_DEF("captioned", sizeof(captioned), IW_ALIGN_OF(captioned), fields, 3);
  const IW_type_t tables[] = {&tag_def, &title_def, &pointer_def, &text_def, &captioned_def};
  ASSERT_TRUE(registry.add(tables).ok());
  for (const IW_type_t table : {&tag_def, &title_def, &pointer_def, &text_def, &captioned_def,
                                IW_node_t, IW_colour, &IW_def_bool, &IW_def_short}) {
    for (const std::uint64_t count : {1U, 7U, 8U, 19U, 40U}) {
      SCOPED_TRACE(type(table).spelled() + ", " + std::to_string(count));
      Copy here(registry);
      Copy there(registry);
      here.begin();
      auto* const target = reinterpret_cast<node_t*>(here.allocate(type(IW_node_t)).address);
      const memory::Block block = here.allocate(type(table), count);
      ASSERT_TRUE(there.apply(here.release()).ok());
      here.begin(10);
      memory::Block text;
      if (table == &text_def) {
        text = here.allocate(types::primitive_type(types::Primitive::character), 6, {}, true);
      }
      for (std::size_t i = 0; i < count; ++i) {
        std::byte* const at = block.address + i * type(table).size_bytes;
        if (table == &pointer_def) std::memcpy(at, &target, sizeof target);
        if (table == &text_def) std::memcpy(at, &text.address, sizeof text.address);
        if (table == IW_node_t) *reinterpret_cast<node_t*>(at) = {1, target};
        if (table == &captioned_def) *reinterpret_cast<captioned*>(at) = {'k', "the title", 'b'};
        if (table == &tag_def || table == &title_def) std::memcpy(at, "ab", 2);
        const int member = 1;
        if (table == IW_colour) std::memcpy(at, &member, sizeof member);
        if (type(table).size_bytes <= 2 && table != &tag_def) *at = std::byte{1};
      }
      const AtTheEndOfMemory diff(here.release());
      ASSERT_TRUE(there.apply(diff.bytes()).ok());
      expect_equal(here, there);
    }
  }
}

// A diff with something of everything, and one that continues it.
Bytes rich_diff(Copy& writer, std::mt19937& random, RandomTypes& types, Copy& far) {
  writer.begin(100);
  RandomValues values(random, *writer.heap);
  memory::Block all;
  EXPECT_TRUE(writer.heap->find("all", all));
  auto* const one = reinterpret_cast<everything*>(all.address);
  one->flag = 1;
  one->hue = 5;
  std::strcpy(one->tag, "tag");
  std::strcpy(one->title, "title");
  one->forms[0].kind = 2;
  one->forms[0].u.side[0] = 4;
  one->anything = far.blocks()[0].address;
  const memory::Block owned =
      writer.allocate(types::primitive_type(types::Primitive::float64), 5, {}, true);
  one->values = {5, reinterpret_cast<double*>(owned.address)};
  for (int i = 0; i < 4; ++i) {
    const memory::Block block =
        writer.allocate(types.record(), 2, numbered("r", static_cast<std::size_t>(i)));
    values.store(block, 0, block.count * block.type->units);
  }
  EXPECT_TRUE(writer.heap->free(3).ok());
  return writer.release();
}

TEST_F(MalformedDiffTest, NoTruncationIsAccepted) {
  std::mt19937 random(7);
  RandomTypes types(random);
  Copy far(registry, "localhost/far");
  far.begin();
  (void)far.allocate(type(IW_pair_t));
  (void)far.release();
  const Bytes good = rich_diff(writer, random, types, far);
  ASSERT_GT(good.size(), 500U);
  std::vector<std::size_t> ends{7};  // of the header and of the sections
  Reader reading(std::span<const std::byte>(good).subspan(7));
  while (reading.remaining() != 0) {
    std::uint8_t tag = 0;
    std::uint64_t bytes = 0;
    Reader body;
    ASSERT_TRUE(reading.u8(tag) && reading.varint(bytes) && reading.take(bytes, body));
    ends.push_back(good.size() - reading.remaining());
  }
  const Bytes before = seen();
  for (std::size_t size = 0; size < good.size(); ++size) {
    // A buffer of its own size, so that ASan sees reads beyond it.
    const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    Update update;
    const CachedCopy copy = reader.parts();
    if (Update::read(cut, copy, {}, update).ok()) {
      // Whole sections were left out at the end, which is a diff, too.
      EXPECT_NE(std::find(ends.begin(), ends.end(), size), ends.end()) << size;
      EXPECT_LT(update.statistics().blocks, 3U) << size;
    }
  }
  EXPECT_EQ(seen(), before);
  ASSERT_TRUE(reader.apply(good).ok());
  expect_equal(writer, reader);
}

TEST_F(MalformedDiffTest, DamageIsRefusedOrHarmless) {
  std::mt19937 random(11);
  RandomTypes types(random);
  Copy far(registry, "localhost/far");
  far.begin();
  (void)far.allocate(type(IW_pair_t));
  (void)far.release();
  const Bytes before_diff = complete_diff(writer);
  const Bytes good = rich_diff(writer, random, types, far);
  ASSERT_TRUE(reader.apply(before_diff).ok());
  const Bytes before = seen();
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    Bytes damaged = good;
    const std::size_t flips = 1 + random() % 4;
    for (std::size_t i = 0; i < flips; ++i) {
      damaged[random() % damaged.size()] ^= static_cast<std::byte>(1U << random() % 8);
    }
    Update update;
    CachedCopy copy = reader.parts();
    Limits limits;
    limits.new_bytes = 1 << 20;
    if (!Update::read(damaged, copy, limits, update).ok()) continue;
    ++accepted;
    (void)update.apply(copy, reader.resolver);
    ASSERT_TRUE(reader.apply(before_diff).ok()) << "a complete copy mends everything";
  }
  EXPECT_EQ(seen(), before);
  EXPECT_GT(accepted, 0);
  ASSERT_TRUE(reader.apply(good).ok());
  expect_equal(writer, reader);
}

}  // namespace
}  // namespace iw::diff
