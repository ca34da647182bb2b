// What a writer collects, a reader's copy becomes.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "diff/copies_fixture.h"
#include "platform/byte_order.h"

namespace iw::diff {
namespace {

using namespace types::samples;

Bytes bytes_of(std::initializer_list<int> values) {
  Bytes out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

TEST_F(DiffTest, Figure3GivesTheBytesOfTheSpecification) {
  Copy writer(registry);
  Result why;
  for (IW_type_t table : {IW_pair_t, IW_colour, IW_label, IW_matrix}) {
    ASSERT_NE(writer.types.add(type(table), why), nullptr);
  }
  writer.begin(7);
  const memory::Block block = writer.allocate(type(IW_figure_3));
  ASSERT_EQ(writer.types.serial_of(*block.type), 70U);
  auto* const figure = reinterpret_cast<figure_3*>(block.address);
  figure->d1 = 1.5;
  (void)writer.release();
  writer.version = 4;
  writer.begin(8);
  figure->i0 = 1;
  figure->i2 = 3;
  figure->d1 = 2.5;
  figure->ptr = &figure->i2;
  const Bytes diff = writer.release(runs::Splicing::off);
  EXPECT_EQ(diff,
            bytes_of({0x49, 0x57, 0x44, 0x31, 0x00, 0x04, 0x05, 0x06, 0x28, 0x0e, 0x26, 0x00, 0x01,
                      1,    0,    0,    0,    0x01, 0x01, 3,    0,    0,    0,    0x01, 0x02, 0,
                      0,    0,    0,    0,    0,    0x04, 0x40, 0,    0,    7,    0,    0,    0,
                      0,    0,    2,    0,    0,    0,    0,    0,    0,    0}));
  EXPECT_EQ(writer.last.runs, 3U);
  EXPECT_EQ(writer.last.units, 4U);
  EXPECT_EQ(writer.last.blocks, 1U);
}

TEST_F(DiffTest, StringsOfUpToSixteenBytesTravelWholeAndOthersBehindTheirLength) {
  const IW_type_def whole_def = IW_STRING_DEF("", 16);
  const IW_type_def longer_def = IW_STRING_DEF("", 17);
  const IW_type_t tables[] = {&whole_def, &longer_def};
  ASSERT_TRUE(registry.add(tables).ok());
  Copy writer(registry);
  writer.begin();
  const memory::Block whole = writer.allocate(type(&whole_def));
  const memory::Block longer = writer.allocate(type(&longer_def));
  std::memcpy(whole.address, "ab", 2);
  std::memcpy(longer.address, "ab", 2);
  EXPECT_EQ(writer.travelling(whole),
            bytes_of({'a', 'b', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(writer.travelling(longer), bytes_of({2, 0, 'a', 'b'}));
}

// Runs are found in words of four bytes, and a word holds bytes of two of these strings.
TEST_F(DiffTest, OfStringsThatShareAWordOnlyTheOneThatChangedIsSent) {
  const IW_type_def def = IW_STRING_DEF("", 2);
  const IW_type_t tables[] = {&def};
  ASSERT_TRUE(registry.add(tables).ok());
  constexpr std::size_t kCount = 12;
  Copy writer(registry);
  writer.begin();
  const memory::Block block = writer.allocate(type(&def), kCount);
  for (std::size_t i = 0; i < kCount; ++i) std::memcpy(block.address + 3 * i, "bb", 2);
  (void)writer.release();
  for (std::size_t letter = 0; letter < 2 * kCount; ++letter) {
    writer.begin(2);
    block.address[letter / 2 * 3 + letter % 2] = std::byte{'c'};
    (void)writer.release(runs::Splicing::off);
    EXPECT_EQ(writer.last.runs, 1U) << letter;
    EXPECT_EQ(writer.last.units, 1U) << letter;
  }
}

// Of two neighbours only words that do not touch change.
TEST_F(DiffTest, NeighboursAreOneRun) {
  Copy writer(registry);
  writer.begin();
  constexpr std::size_t kPairs = 10;
  const memory::Block doubles =
      writer.allocate(types::primitive_type(types::Primitive::float64), 8 * kPairs);
  const memory::Block record = writer.allocate(type(IW_figure_3));
  (void)writer.release();
  const auto change = [](std::byte* first_of_two) {
    first_of_two[0] = std::byte{1};
    first_of_two[15] = std::byte{1};
  };
  writer.begin(3);
  for (std::size_t i = 0; i < kPairs; ++i) change(doubles.address + 64 * i);
  (void)writer.release(runs::Splicing::off);
  EXPECT_EQ(writer.last.runs, kPairs);
  EXPECT_EQ(writer.last.units, 2 * kPairs);
  writer.begin(4);
  change(record.address + offsetof(figure_3, d0));
  (void)writer.release(runs::Splicing::off);
  EXPECT_EQ(writer.last.runs, 1U);
  EXPECT_EQ(writer.last.units, 2U);
}

TEST_F(DiffTest, AListArrivesWithItsPointers) {
  Copy writer(registry);
  Copy reader(registry);
  writer.begin();
  node_t* previous = nullptr;
  for (int i = 0; i < 100; ++i) {
    const memory::Block block = writer.allocate(type(IW_node_t), 1, i == 99 ? "head" : "");
    auto* const node = reinterpret_cast<node_t*>(block.address);
    node->key = i;
    node->next = previous;
    previous = node;
  }
  const Result result = reader.apply(writer.release());
  ASSERT_TRUE(result.ok()) << result.text;
  memory::Block head;
  ASSERT_TRUE(reader.heap->find("head", head));
  int expected = 99;
  for (auto* node = reinterpret_cast<node_t*>(head.address); node != nullptr; node = node->next) {
    EXPECT_EQ(node->key, expected--);
  }
  EXPECT_EQ(expected, -1);
  expect_equal(writer, reader);
}

void fill(everything& all, node_t* node, double* owned, char* text) {
  all.c = 'x';
  all.bytes[2] = 255;
  all.s = -2;
  all.flag = 1;
  all.hue = static_cast<int>(colour::blue);
  all.big = std::int64_t{-1} << 40;
  all.f = 0.5F;
  std::strcpy(all.tag, "12345678");
  std::strcpy(all.title, "a title longer than sixteen bytes");
  all.forms[0].kind = 7;
  all.forms[0].u.node = node;
  all.forms[1].kind = 3;
  all.forms[1].u.side[1] = 8.25;
  all.points[3].y = 4.5F;
  all.inner = {5, node};
  all.first = node;
  all.anything = &all.matrix[1][0];
  all.values = {3, owned};
  all.remark = text;
  all.matrix[1][2] = -1;
}

TEST_F(DiffTest, EveryKindOfUnitArrives) {
  Copy writer(registry);
  types::Registry nothing;
  Copy reader(nothing);  // a program that knows no type but what it receives
  writer.begin();
  const memory::Block block = writer.allocate(type(IW_everything), 3, "all");
  const memory::Block node = writer.allocate(type(IW_node_t));
  const memory::Block owned =
      writer.allocate(types::primitive_type(types::Primitive::float64), 3, {}, true);
  const memory::Block text =
      writer.allocate(types::primitive_type(types::Primitive::character), 6, {}, true);
  std::strcpy(reinterpret_cast<char*>(text.address), "hello");
  reinterpret_cast<double*>(owned.address)[2] = 9;
  auto* const written = reinterpret_cast<everything*>(block.address);
  fill(written[1], reinterpret_cast<node_t*>(node.address),
       reinterpret_cast<double*>(owned.address), reinterpret_cast<char*>(text.address));
  Result result = reader.apply(writer.release());
  ASSERT_TRUE(result.ok()) << result.text;
  expect_equal(writer, reader);

  memory::Block seen;
  ASSERT_TRUE(reader.heap->find("all", seen));
  const auto& all = reinterpret_cast<const everything*>(seen.address)[1];
  EXPECT_STREQ(all.title, "a title longer than sixteen bytes");
  EXPECT_EQ(all.forms[1].u.side[1], 8.25);
  EXPECT_EQ(all.anything, &all.matrix[1][0]);
  EXPECT_EQ(all.values.x_len, 3U);
  EXPECT_EQ(all.values.x_val[2], 9);
  EXPECT_STREQ(all.remark, "hello");

  // A union changes its arm and a string becomes shorter: nothing old stays.
  writer.begin(100);
  written[1].forms[1].kind = 1;
  written[1].forms[1].u.radius = 6;
  std::strcpy(written[1].title, "short");
  written[1].values = {0, nullptr};
  ASSERT_TRUE(writer.heap->free(owned.serial).ok());
  result = reader.apply(writer.release());
  ASSERT_TRUE(result.ok()) << result.text;
  EXPECT_EQ(all.forms[1].u.radius, 6);
  EXPECT_EQ(all.title[10], 0);
  EXPECT_EQ(all.values.x_val, nullptr);
  expect_equal(writer, reader);

  Copy late(nothing);
  result = late.apply(complete_diff(writer));
  ASSERT_TRUE(result.ok()) << result.text;
  expect_equal(writer, late);
}

TEST_F(DiffTest, LongRunsOfNumbersAreSentFromTheView) {
  Copy writer(registry);
  Copy reader(registry);
  writer.begin();
  const memory::Block block =
      writer.allocate(types::primitive_type(types::Primitive::float64), 65536, "grid");
  auto* const grid = reinterpret_cast<double*>(block.address);
  for (int i = 0; i < 65536; ++i) grid[i] = i + 1;
  CollectedDiff out;
  ASSERT_TRUE(writer.collect_into(out).ok());
  const auto slices = out.slices();
  if (platform::is_little_endian) {
    EXPECT_EQ(slices.back().data(), block.address);
    EXPECT_EQ(slices.back().size(), block.size_bytes);
  } else {
    EXPECT_NE(slices.back().data(), block.address) << "this machine's bytes are not the wire's";
  }
  ASSERT_TRUE(reader.apply(out.flattened()).ok());
  ASSERT_TRUE(writer.heap->commit_write(writer.changed).ok());
  expect_equal(writer, reader);
}

TEST_F(DiffTest, ViewsAndOwnBytesGiveTheSameDiff) {
  Copy writer(registry);
  writer.begin();
  for (int i = 0; i < 5; ++i) {
    const memory::Block block =
        writer.allocate(types::primitive_type(types::Primitive::int32), 4000);
    auto* const numbers = reinterpret_cast<int*>(block.address);
    for (int at = 0; at < 4000; ++at) numbers[at] = at < 1500 || at > 1600 ? at + 1 : 0;
  }
  CollectedDiff views;
  CollectedDiff own;
  ASSERT_TRUE(writer.collect_into(views, runs::Splicing::on, true).ok());
  swizzle::Swizzler swizzler(*writer.heap, writer.slots, writer.resolver);
  ASSERT_TRUE(
      collect({*writer.heap, writer.types, writer.slots, swizzler, 0, writer.changed, false}, own)
          .ok());
  if (platform::is_little_endian) {
    EXPECT_GT(views.slices().size(), own.slices().size());
  }
  EXPECT_EQ(views.flattened(), own.flattened());
  EXPECT_EQ(views.statistics().runs, 10U);
  CollectedDiff unasked;
  EXPECT_TRUE(unasked.is_empty());
  ASSERT_TRUE(
      collect({*writer.heap, writer.types, writer.slots, swizzler, 0, writer.changed}, unasked)
          .ok());
  EXPECT_EQ(unasked.slices().size(), views.slices().size()) << "views unless they are refused";
}

TEST_F(DiffTest, AnEmptyReleaseIsAHeaderOnly) {
  Copy writer(registry);
  Copy reader(registry);
  writer.begin();
  CollectedDiff out;
  ASSERT_TRUE(writer.collect_into(out).ok());
  EXPECT_TRUE(out.is_empty());
  EXPECT_EQ(out.flattened(), bytes_of({0x49, 0x57, 0x44, 0x31, 0, 0, 1}));
  EXPECT_TRUE(reader.apply(out.flattened()).ok());
}

TEST_F(DiffTest, PointersIntoAnotherSegmentTakeASlot) {
  Copy other(registry, "localhost/other");
  other.begin();
  const memory::Block far = other.allocate(type(IW_node_t), 4, "far");
  (void)other.release();

  Copy writer(registry);
  Copy reader(registry);
  reader.resolver.heaps["iw://localhost:7747/other"] = other.heap.get();
  writer.begin();
  const memory::Block block = writer.allocate(type(IW_node_t), 2);
  auto* const nodes = reinterpret_cast<node_t*>(block.address);
  nodes[0].next = reinterpret_cast<node_t*>(far.address) + 3;
  nodes[1].next = reinterpret_cast<node_t*>(far.address);
  const Bytes diff = writer.release();
  Update update;
  const CachedCopy copy = reader.parts();
  ASSERT_TRUE(Update::read(diff, copy, {}, update).ok());
  ASSERT_EQ(update.foreign_references().size(), 1U);
  EXPECT_EQ(update.foreign_references()[0], (ForeignReference{1, far.serial}));
  ASSERT_NE(update.slots(), nullptr);
  EXPECT_EQ(*update.slots()->text_of(1), "/other");
  ASSERT_TRUE(reader.apply(diff).ok());
  memory::Block seen;
  ASSERT_TRUE(reader.heap->find(block.serial, seen));
  EXPECT_EQ(reinterpret_cast<node_t*>(seen.address)[0].next, nodes[0].next);
  expect_equal(writer, reader);
}

TEST_F(DiffTest, WhatIsNoValueIsRefusedWithItsPlace) {
  Copy writer(registry);
  writer.begin();
  const memory::Block block = writer.allocate(type(IW_everything), 2);
  (void)writer.release();
  auto& all = reinterpret_cast<everything*>(block.address)[1];
  int local = 0;
  const auto refused = [&](types::error_code code, auto store) {
    writer.begin(100);
    store();
    CollectedDiff out;
    const Result result = writer.collect_into(out);
    EXPECT_EQ(result.code, code) << result.text;
    EXPECT_NE(result.text.find("block 1 (everything), unit "), std::string::npos) << result.text;
    writer.abort();
  };
  using types::error_code;
  refused(error_code::BAD_VALUE, [&] { all.flag = 2; });
  refused(error_code::BAD_VALUE, [&] { all.hue = 3; });
  refused(error_code::BAD_VALUE, [&] { std::memset(all.tag, 'x', sizeof all.tag); });
  refused(error_code::BAD_VALUE, [&] { std::memset(all.title, 'x', sizeof all.title); });
  refused(error_code::BAD_VALUE, [&] { all.values.x_len = 1; });
  refused(error_code::BAD_POINTER, [&] { all.first = reinterpret_cast<node_t*>(&local); });
  refused(error_code::BAD_POINTER,
          [&] { all.inner.next = reinterpret_cast<node_t*>(&all.inner.next); });
  refused(error_code::BAD_POINTER, [&] { all.anything = reinterpret_cast<char*>(&all.big) + 1; });
  refused(error_code::BAD_POINTER, [&] { all.remark = &all.c; });
}

TEST_F(DiffTest, AWrongValueInARowIsRefusedWithItsUnit) {
  const IW_type_def text_def = IW_TEXT_DEF("", 0);
  const IW_type_def sequence_def = IW_SEQUENCE_DEF("", &IW_def_double, 0);
  const IW_type_t tables[] = {&text_def, &sequence_def};
  ASSERT_TRUE(registry.add(tables).ok());
  Copy writer(registry);
  writer.begin();
  auto* const labels = reinterpret_cast<char(*)[21]>(writer.allocate(type(IW_label), 9).address);
  auto* const hues = reinterpret_cast<int*>(writer.allocate(type(IW_colour), 9).address);
  auto* const texts = reinterpret_cast<char**>(writer.allocate(type(&text_def), 9).address);
  auto* const values = reinterpret_cast<numbers*>(writer.allocate(type(&sequence_def), 9).address);
  auto* const shapes = reinterpret_cast<shape*>(writer.allocate(type(IW_shape), 9).address);
  auto* const flags = reinterpret_cast<int*>(
      writer.allocate(types::primitive_type(types::Primitive::boolean), 9).address);
  const memory::Block text =
      writer.allocate(types::primitive_type(types::Primitive::character), 6, {}, true);
  (void)writer.release();
  const auto refused = [&](const std::string& where, auto store) {
    writer.begin(100);
    for (std::size_t i = 2; i < 9; ++i) {
      labels[i][0] = 'l';
      hues[i] = 5;
      flags[i] = 1;
      shapes[i] = {2, {}};
    }
    store();
    CollectedDiff out;
    const Result result = writer.collect_into(out);
    EXPECT_EQ(result.code, types::error_code::BAD_VALUE) << result.text;
    EXPECT_NE(result.text.find(where), std::string::npos) << result.text << ", not: " << where;
    writer.abort();
  };
  refused("unit 5: a string<20> has no NUL within its bound",
          [&] { std::memset(labels[5], 'x', sizeof labels[5]); });
  refused("block 2 (colour), unit 6: a colour has a value that is not a member",
          [&] { hues[6] = 3; });
  refused("unit 7: a bool is neither 0 nor 1", [&] { flags[7] = 2; });
  refused("unit 4: a char text has no NUL within its block", [&] {
    texts[4] = reinterpret_cast<char*>(text.address);
    std::memset(text.address, 'x', 6);
  });
  refused("unit 3: a sequence without elements has length 1", [&] { values[3].x_len = 1; });
  refused("block 5 (shape), unit 6: a string<20> has no NUL within its bound", [&] {
    shapes[6].kind = 9;
    std::memset(shapes[6].u.label, 'x', sizeof shapes[6].u.label);
  });
}

TEST_F(DiffTest, ATypeThatWasNotAddedToTheSegmentIsAMistakeOfTheLibrary) {
  Copy writer(registry);
  writer.begin();
  memory::Block block;
  ASSERT_TRUE(writer.heap->allocate(type(IW_node_t), 1, {}, false, block).ok());
  CollectedDiff out;
  const Result result = writer.collect_into(out);
  EXPECT_EQ(result.code, types::error_code::INTERNAL);
  EXPECT_NE(result.text.find("block 1 is of type node_t"), std::string::npos) << result.text;
}

TEST_F(DiffTest, ADiffThatIsCollectedAgainIsTheSame) {
  Copy writer(registry);
  writer.begin();
  *reinterpret_cast<int*>(writer.allocate(type(IW_int), 10).address) = 1;
  CollectedDiff out;
  ASSERT_TRUE(writer.collect_into(out).ok());
  const Bytes first = out.flattened();
  EXPECT_FALSE(out.is_empty());
  ASSERT_TRUE(writer.collect_into(out).ok());
  EXPECT_EQ(out.flattened(), first);
  EXPECT_EQ(out.statistics().blocks, 1U);
  out.clear();
  EXPECT_TRUE(out.is_empty());
  EXPECT_EQ(out.size_bytes(), 0U);
}

TEST_F(DiffTest, OldMemoryNeverTravels) {
  Copy writer(registry);
  writer.begin();
  const memory::Block block = writer.allocate(type(IW_everything));
  auto& all = *reinterpret_cast<everything*>(block.address);
  std::memcpy(all.tag, "ab\0secret", 9);
  all.tag[8] = 0;
  std::memcpy(all.title, "ab\0secret", 9);
  all.forms[0].kind = 1;
  std::memcpy(reinterpret_cast<char*>(&all.forms[0].u) + 8, "secret", 6);
  const Bytes diff = writer.release();
  const std::string text(reinterpret_cast<const char*>(diff.data()), diff.size());
  EXPECT_EQ(text.find("ecre"), std::string::npos);
}

TEST_F(DiffTest, MetadataReservesBlocksThatLaterFill) {
  Copy writer(registry);
  Copy reader(registry);
  writer.begin();
  const memory::Block block = writer.allocate(type(IW_node_t), 3, "nodes");
  reinterpret_cast<node_t*>(block.address)[2].key = 5;
  const Bytes diff = writer.release();

  const Bytes whole = complete_diff(writer);
  Bytes metadata = metadata_of(whole);
  ASSERT_TRUE(reader.apply(metadata).ok());
  memory::Block reserved;
  ASSERT_TRUE(reader.heap->find("nodes", reserved));
  EXPECT_TRUE(reserved.is_reserved);
  ASSERT_TRUE(reader.apply(metadata).ok()) << "applying it again does no harm";
  ASSERT_TRUE(reader.apply(diff).ok());
  memory::Block filled;
  ASSERT_TRUE(reader.heap->find("nodes", filled));
  EXPECT_FALSE(filled.is_reserved);
  EXPECT_EQ(filled.address, reserved.address);
  expect_equal(writer, reader);
  metadata = whole;
  metadata[4] = static_cast<std::byte>(kMetadataOnly);
  EXPECT_EQ(reader.apply(metadata).code, types::error_code::MALFORMED) << "metadata with data";
}

TEST_F(DiffTest, ACompleteCopyKeepsThePlaceOfWhatStays) {
  Copy writer(registry);
  Copy reader(registry);
  writer.begin();
  const memory::Block stays = writer.allocate(type(IW_node_t), 2, "stays");
  const memory::Block goes = writer.allocate(type(IW_pair_t), 9, "goes");
  reinterpret_cast<node_t*>(stays.address)[0].key = 1;
  ASSERT_TRUE(reader.apply(writer.release()).ok());
  memory::Block before;
  ASSERT_TRUE(reader.heap->find("stays", before));
  writer.begin(50);
  ASSERT_TRUE(writer.heap->free(goes.serial).ok());
  reinterpret_cast<node_t*>(stays.address)[0] = {0, nullptr};
  reinterpret_cast<node_t*>(stays.address)[1].key = 2;
  (void)writer.allocate(type(IW_shape), 1, "goes");
  (void)writer.release();
  const Result result = reader.apply(complete_diff(writer));
  ASSERT_TRUE(result.ok()) << result.text;
  memory::Block after;
  ASSERT_TRUE(reader.heap->find("stays", after));
  EXPECT_EQ(after.address, before.address);
  expect_equal(writer, reader);

  // Another incarnation with other types under the same serials.
  Copy anew(registry);
  anew.begin();
  (void)anew.allocate(type(IW_matrix), 2, "stays");
  (void)anew.release();
  ASSERT_TRUE(reader.apply(complete_diff(anew)).ok());
  expect_equal(anew, reader);
}

TEST_F(DiffTest, ACompleteCopyThatFindsNoMemoryTakesNoPlaceAway) {
  Copy writer(registry);
  Copy reader(registry);
  memory::HeapOptions small;
  small.url = url_of("localhost/test");
  small.reservation_bytes = 0;
  small.limit_bytes = 1000;
  ASSERT_TRUE(memory::Heap::create(small, reader.heap).ok());
  writer.begin(2);
  const memory::Block stays = writer.allocate(type(IW_node_t), 2, "stays");
  const memory::Block goes = writer.allocate(type(IW_int), 200, "goes");
  ASSERT_TRUE(reader.apply(writer.release()).ok());
  memory::Block before;
  ASSERT_TRUE(reader.heap->find(stays.serial, before));
  writer.begin();
  (void)writer.allocate(type(IW_int), 1000, "large");
  ASSERT_TRUE(writer.heap->free(goes.serial).ok());
  (void)writer.release();
  EXPECT_EQ(reader.apply(complete_diff(writer)).code, types::error_code::NO_MEMORY);
  memory::Block after;
  ASSERT_TRUE(reader.heap->find(stays.serial, after)) << "pointers lead there";
  EXPECT_EQ(after.address, before.address);
  EXPECT_FALSE(reader.heap->find(goes.serial, after));

  // What goes makes room for what comes.
  writer.begin(500);
  memory::Block large;
  ASSERT_TRUE(writer.heap->find("large", large));
  ASSERT_TRUE(writer.heap->free(large.serial).ok());
  (void)writer.allocate(type(IW_int), 220);
  (void)writer.release();
  ASSERT_TRUE(reader.apply(complete_diff(writer)).ok());
  ASSERT_TRUE(reader.heap->find(stays.serial, after));
  EXPECT_EQ(after.address, before.address);
  expect_equal(writer, reader);
}

TEST_F(DiffTest, LiveRangesFreeTheRest) {
  Copy writer(registry);
  Copy reader(registry);
  writer.begin();
  for (int i = 0; i < 6; ++i) (void)writer.allocate(type(IW_node_t));
  ASSERT_TRUE(reader.apply(writer.release()).ok());
  // from 1 to 3, LIVE: 2..3 and 6.
  ASSERT_TRUE(reader.apply(bytes_of({0x49, 0x57, 0x44, 0x31, 0, 1, 3, 4, 4, 2, 2, 2, 1})).ok());
  std::vector<std::uint64_t> serials;
  for (const memory::Block& block : reader.blocks()) serials.push_back(block.serial);
  EXPECT_EQ(serials, (std::vector<std::uint64_t>{2, 3, 6}));
}

}  // namespace
}  // namespace iw::diff
