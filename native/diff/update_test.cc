// The facts that an incoming diff tells before it is applied, and blocks whose names or places are
// taken.
#include "diff/update.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "diff/copies_fixture.h"

namespace iw::diff {
namespace {

using namespace types::samples;
using types::error_code;

class UpdateTest : public DiffTest {
 protected:
  const types::Type& int_type() { return types::primitive_type(types::Primitive::int32); }

  Update read(const Bytes& bytes) {
    Update update;
    const Result result = Update::read(bytes, reader.parts(), reader.limits, update);
    EXPECT_TRUE(result.ok()) << result.text;
    return update;
  }
  [[nodiscard]] std::uint64_t serial_of(std::string_view name) const {
    memory::Block block;
    return reader.heap->find(name, block) ? block.serial : 0;
  }

  Copy writer{registry};
  Copy reader{registry};
};

TEST_F(UpdateTest, ItSaysItsVersionsAndWhatItHolds) {
  writer.begin();
  for (int i = 0; i < 2; ++i) {
    *reinterpret_cast<int*>(writer.allocate(int_type(), 10).address) = 1;
  }
  reinterpret_cast<node_t*>(writer.allocate(type(IW_node_t), 4).address)[1].key = 1;
  writer.version = 4;
  const Bytes bytes = writer.release();
  Update update = read(bytes);
  EXPECT_EQ(update.from(), 4U);
  EXPECT_EQ(update.to(), 5U);
  EXPECT_FALSE(update.is_complete());
  EXPECT_FALSE(update.is_metadata_only());
  EXPECT_EQ(update.statistics().bytes, bytes.size());
  EXPECT_EQ(update.statistics().blocks, 3U);
  EXPECT_EQ(update.statistics().runs, writer.last.runs);
  EXPECT_EQ(update.statistics().units, writer.last.units);
  update = read(complete_diff(writer));
  EXPECT_TRUE(update.is_complete());
  EXPECT_EQ(update.to(), 5U);
  EXPECT_FALSE(read(metadata_of(complete_diff(writer))).is_complete());
  EXPECT_TRUE(read(metadata_of(complete_diff(writer))).is_metadata_only());
}

TEST_F(UpdateTest, ManyShortRunsAreCountedAlikeByWhoSendsAndWhoReads) {
  const types::Primitive primitives[] = {types::Primitive::character, types::Primitive::int16,
                                         types::Primitive::int32, types::Primitive::float64};
  for (const types::Primitive primitive : primitives) {
    const types::Type& of = types::primitive_type(primitive);
    constexpr std::size_t kRuns = 1000;
    constexpr std::size_t kApart = 64;
    const auto bytes = static_cast<std::size_t>(of.size_bytes);
    Copy sender(registry);
    sender.begin();
    const memory::Block block = sender.allocate(of, kRuns * kApart);
    (void)sender.release();
    sender.begin(2);
    for (std::size_t i = 0; i < kRuns; ++i) {  // two units each
      std::memset(block.address + i * kApart * bytes, 1, 2 * bytes);
    }
    const Bytes diff = sender.release(runs::Splicing::off);
    EXPECT_EQ(sender.last.runs, kRuns);
    EXPECT_EQ(sender.last.units, std::max<std::size_t>(2, 4 / bytes) * kRuns) << "whole words";
    Copy receiver(registry);
    ASSERT_TRUE(receiver.apply(complete_diff(sender)).ok());
    ASSERT_TRUE(receiver.apply(diff).ok());
    EXPECT_EQ(receiver.last.runs, kRuns);
    EXPECT_EQ(receiver.last.units, sender.last.units);
    expect_equal(sender, receiver);
  }
}

// Behind many that lead to one block, and in records, too.
TEST_F(UpdateTest, BlocksOfOtherSegmentsArePointedAtAscendingAndEachOnce) {
  Copy far(registry, "localhost/far");
  Copy farther(registry, "localhost/farther");
  std::vector<node_t*> targets;
  for (Copy* copy : {&far, &farther}) {
    copy->begin(500);
    for (int i = 0; i < 3; ++i) {
      targets.push_back(reinterpret_cast<node_t*>(copy->allocate(type(IW_node_t), 2).address));
    }
    (void)copy->release();
  }
  writer.begin();
  const IW_type_def pointer_def = IW_POINTER_DEF("", IW_node_t);
  const IW_type_t tables[] = {&pointer_def};
  ASSERT_TRUE(registry.add(tables).ok());
  auto* const records = reinterpret_cast<node_t*>(writer.allocate(type(IW_node_t), 60).address);
  auto* const row = reinterpret_cast<node_t**>(writer.allocate(type(&pointer_def), 60).address);
  const auto place = [&](std::size_t at, node_t* target) {
    records[at].next = target;
    row[at] = target;
  };
  for (std::size_t i = 0; i < 60; ++i) place(i, records + i);
  place(0, targets[3]);  // whose segment has slot 1
  place(1, targets[2]);
  for (std::size_t i = 26; i < 46; ++i) place(i, targets[1]);
  place(46, targets[5]);
  place(47, targets[1] + 1);
  place(48, targets[3]);
  Update update = read(writer.release());
  const std::vector<ForeignReference> expected{{1, 500}, {1, 502}, {2, 501}, {2, 502}};
  EXPECT_EQ(update.foreign_references(), expected);
}

TEST_F(UpdateTest, ACompleteCopyLacksABlockThatIsNotThereWithItsTypeCountAndName) {
  reader.begin();
  (void)reader.allocate(int_type(), 3, "three");
  (void)reader.allocate(int_type(), 5, {}, true);  // owned by a field
  (void)reader.allocate(int_type(), 4);
  (void)reader.release();
  const auto missing = [&](std::uint64_t count, const types::Type& of, std::string_view name,
                           bool has_last = true) {
    Copy server(registry);
    server.begin();
    (void)server.allocate(of, count, name);
    const memory::Block second = server.allocate(int_type());
    if (has_last) (void)server.allocate(int_type(), 4);
    EXPECT_TRUE(server.heap->free(second.serial).ok());
    (void)server.release();
    return read(complete_diff(server)).missing_block(*reader.heap);
  };
  EXPECT_EQ(missing(3, int_type(), "three"), 0U) << "owned blocks do not count";
  EXPECT_EQ(missing(4, int_type(), "three"), 1U);
  EXPECT_EQ(missing(3, type(IW_node_t), "three"), 1U);
  EXPECT_EQ(missing(3, int_type(), "other"), 1U);
  EXPECT_EQ(missing(3, int_type(), ""), 1U);
  EXPECT_EQ(missing(3, int_type(), "three", false), 3U);
  memory::Block reserved;
  ASSERT_TRUE(reader.heap->reserve(9, int_type(), 1, "", reserved).ok());
  EXPECT_EQ(missing(3, int_type(), "three"), 0U) << "nor do reserved ones";
}

TEST_F(UpdateTest, ABlockIsCreatedAsItWasAnnounced) {
  writer.begin();
  (void)writer.allocate(int_type(), 3);
  (void)writer.release();
  ASSERT_TRUE(reader.apply(metadata_of(complete_diff(writer))).ok());
  for (const bool is_other_type : {false, true}) {
    Copy other(registry);
    other.version = 1;
    other.begin();
    const types::Type& unsigned_type = types::primitive_type(types::Primitive::uint32);
    (void)other.allocate(is_other_type ? unsigned_type : int_type(), is_other_type ? 3 : 2);
    const Result result = reader.apply(other.release());
    EXPECT_EQ(result.code, error_code::MALFORMED);
    EXPECT_NE(result.text.find("than was announced"), std::string::npos) << result.text;
  }
  EXPECT_TRUE(reader.apply(complete_diff(writer)).ok());
}

TEST_F(UpdateTest, ANamePassesFromABlockThatIsFreedInTheSameDiff) {
  writer.begin();
  const memory::Block old = writer.allocate(int_type(), 1, "name");
  ASSERT_TRUE(reader.apply(writer.release()).ok());
  writer.begin(2);
  ASSERT_TRUE(writer.heap->free(old.serial).ok());
  (void)writer.allocate(int_type(), 1, "name");
  ASSERT_TRUE(reader.apply(writer.release()).ok());
  EXPECT_EQ(serial_of("name"), 2U);
  expect_equal(writer, reader);
}

// The announcement may be of a newer version than the copy, or an older one.
TEST_F(UpdateTest, ANamePassesFromAnAnnouncedBlockAndNotToOne) {
  writer.begin(5);
  (void)writer.allocate(int_type(), 1, "name");
  (void)writer.release();
  ASSERT_TRUE(reader.apply(metadata_of(complete_diff(writer))).ok());
  EXPECT_EQ(serial_of("name"), 5U);
  Copy later(registry);
  later.version = 1;
  later.begin(6);
  (void)later.allocate(int_type(), 1, "name");
  ASSERT_TRUE(reader.apply(later.release()).ok());
  EXPECT_EQ(serial_of("name"), 6U);
  memory::Block block;
  EXPECT_FALSE(reader.heap->find(5, block)) << "nobody announces it any more";

  ASSERT_TRUE(reader.apply(metadata_of(complete_diff(writer))).ok());
  EXPECT_EQ(serial_of("name"), 6U);
  ASSERT_TRUE(reader.heap->find(5, block));
  EXPECT_TRUE(block.is_reserved);
  EXPECT_EQ(reader.heap->name_of(5), "");
  Copy other(registry);
  other.version = 2;
  other.begin(7);
  (void)other.allocate(int_type(), 1, "name");
  EXPECT_EQ(reader.apply(other.release()).code, error_code::BAD_NAME) << "two have data";
}

TEST_F(UpdateTest, AnOwnedFieldWhoseBlockIsMissingIsMadeEmpty) {
  writer.begin();
  const memory::Block block = writer.allocate(type(IW_everything), 1, "all");
  const memory::Block owned =
      writer.allocate(types::primitive_type(types::Primitive::float64), 3, {}, true);
  const memory::Block text =
      writer.allocate(types::primitive_type(types::Primitive::character), 6, {}, true);
  auto& all = *reinterpret_cast<everything*>(block.address);
  all.values = {3, reinterpret_cast<double*>(owned.address)};
  all.remark = reinterpret_cast<char*>(text.address);
  ASSERT_TRUE(reader.apply(writer.release()).ok());
  memory::Block seen;
  ASSERT_TRUE(reader.heap->find("all", seen));
  const auto& there = *reinterpret_cast<const everything*>(seen.address);
  EXPECT_EQ(there.values.x_len, 3U);
  EXPECT_NE(there.remark, nullptr);
  // 25 values, 26 remark: both lead to a block that does not exist.
  Bytes run;
  put_number(run, 25);
  put_number(run, 2);
  for (int i = 0; i < 2; ++i) {
    std::byte words[16] = {};
    words[2] = std::byte{99};
    run.insert(run.end(), words, words + 16);
  }
  Bytes changes;
  put_number(changes, 2 * block.serial);
  put_number(changes, run.size());
  changes.insert(changes.end(), run.begin(), run.end());
  Bytes bytes(kMagic.size() + 3);
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  bytes[5] = bytes[6] = std::byte{1};  // from, to
  put_section(bytes, Tag::changes, changes);
  ASSERT_TRUE(reader.apply(bytes).ok());
  EXPECT_EQ(there.values.x_len, 0U);
  EXPECT_EQ(there.values.x_val, nullptr);
  EXPECT_EQ(there.remark, nullptr);
}

TEST_F(UpdateTest, RowsOfOwnedFieldsArriveEachWithItsBlock) {
  const IW_type_def text_def = IW_TEXT_DEF("", 0);
  const IW_type_def sequence_def = IW_SEQUENCE_DEF("", &IW_def_double, 0);
  const IW_type_t tables[] = {&text_def, &sequence_def};
  ASSERT_TRUE(registry.add(tables).ok());
  constexpr std::size_t kCount = 6;
  writer.begin();
  auto* const texts = reinterpret_cast<char**>(writer.allocate(type(&text_def), kCount).address);
  auto* const values =
      reinterpret_cast<numbers*>(writer.allocate(type(&sequence_def), kCount).address);
  for (std::size_t i = 0; i < kCount; ++i) {
    if (i == 3) continue;  // empty
    const memory::Block text =
        writer.allocate(types::primitive_type(types::Primitive::character), i + 2, {}, true);
    std::memset(text.address, 'a' + static_cast<int>(i), i + 1);
    texts[i] = reinterpret_cast<char*>(text.address);
    const memory::Block doubles =
        writer.allocate(types::primitive_type(types::Primitive::float64), i + 1, {}, true);
    values[i] = {static_cast<unsigned>(i + 1), reinterpret_cast<double*>(doubles.address)};
    values[i].x_val[i] = static_cast<double>(i);
  }
  ASSERT_TRUE(reader.apply(writer.release()).ok());
  memory::Block block;
  ASSERT_TRUE(reader.heap->find(1, block));
  const auto* const got_texts = reinterpret_cast<char* const*>(block.address);
  ASSERT_TRUE(reader.heap->find(2, block));
  const auto* const got_values = reinterpret_cast<const numbers*>(block.address);
  for (std::size_t i = 0; i < kCount; ++i) {
    EXPECT_STREQ(got_texts[i], texts[i]) << i;
    ASSERT_EQ(got_values[i].x_len, values[i].x_len) << i;
    if (i == 3) continue;
    EXPECT_EQ(got_values[i].x_val[i], static_cast<double>(i));
  }
}

TEST_F(UpdateTest, NothingOldStaysBehindAStringOrInAUnion) {
  constexpr std::size_t kCount = 4;
  writer.begin();
  const memory::Block labels = writer.allocate(type(IW_label), kCount);
  const memory::Block shapes = writer.allocate(type(IW_shape), kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    std::strcpy(reinterpret_cast<char(*)[21]>(labels.address)[i], "twenty letters, all.");
    auto& one = reinterpret_cast<shape*>(shapes.address)[i];
    one.kind = 9;
    std::strcpy(one.u.label, "twenty letters, all.");
  }
  ASSERT_TRUE(reader.apply(writer.release()).ok());
  writer.begin(3);
  for (std::size_t i = 0; i < kCount; ++i) {
    std::strcpy(reinterpret_cast<char(*)[21]>(labels.address)[i], "ab");
    auto& one = reinterpret_cast<shape*>(shapes.address)[i];
    one.kind = 1;
    one.u.radius = 7;
  }
  ASSERT_TRUE(reader.apply(writer.release()).ok());
  memory::Block got;
  ASSERT_TRUE(reader.heap->find(labels.serial, got));
  for (std::size_t i = 0; i < kCount; ++i) {
    char expected[21] = "ab";
    EXPECT_EQ(std::memcmp(got.address + i * sizeof expected, expected, sizeof expected), 0);
  }
  ASSERT_TRUE(reader.heap->find(shapes.serial, got));
  for (std::size_t i = 0; i < kCount; ++i) {
    shape expected;
    std::memset(&expected, 0, sizeof expected);
    expected.kind = 1;
    expected.u.radius = 7;
    EXPECT_EQ(std::memcmp(got.address + i * sizeof expected, &expected, sizeof expected), 0);
  }
}

TEST_F(UpdateTest, OnceItIsAppliedTheSlotsAreThoseOfTheCopy) {
  Copy far(registry, "localhost/far");
  far.begin();
  auto* const target = reinterpret_cast<node_t*>(far.allocate(type(IW_node_t)).address);
  writer.begin();
  reinterpret_cast<node_t*>(writer.allocate(type(IW_node_t)).address)->next = target;
  const Bytes bytes = writer.release();
  Update update = read(bytes);
  ASSERT_NE(update.slots(), nullptr);
  CachedCopy copy = reader.parts();
  ASSERT_TRUE(update.apply(copy, reader.resolver).ok());
  EXPECT_EQ(update.slots(), nullptr);
  EXPECT_EQ(reader.slots.size(), 1U);
}

TEST_F(UpdateTest, OfARunOfAnEarlierReleaseNothingIsSentAgain) {
  writer.begin();
  const memory::Block block = writer.allocate(int_type(), 8000);
  auto* const values = reinterpret_cast<int*>(block.address);
  ASSERT_TRUE(reader.apply(writer.release()).ok());
  const auto change = [&](std::size_t first, std::size_t count) {
    writer.begin(2);
    for (std::size_t i = 0; i < count; ++i) ++values[first + 8 * i];
    ASSERT_TRUE(reader.apply(writer.release(runs::Splicing::off)).ok());
    EXPECT_EQ(writer.last.runs, count);
    EXPECT_EQ(writer.last.units, count);
    expect_equal(writer, reader);
  };
  change(4000, 500);
  change(0, 8);
}

TEST_F(UpdateTest, ManyRunsOfAThousandBytesArrive) {
  constexpr std::size_t kRuns = 300;
  constexpr std::size_t kLength = 128;
  writer.begin();
  const memory::Block block =
      writer.allocate(types::primitive_type(types::Primitive::float64), 2 * kRuns * kLength);
  auto* const values = reinterpret_cast<double*>(block.address);
  ASSERT_TRUE(reader.apply(writer.release()).ok());
  writer.begin(2);
  for (std::size_t i = 0; i < 2 * kRuns * kLength; ++i) {
    if (i / kLength % 2 == 1) std::memset(&values[i], static_cast<int>(1 + i % 100), 8);
  }
  ASSERT_TRUE(reader.apply(writer.release()).ok());
  EXPECT_EQ(writer.last.runs, kRuns);
  memory::Block got;
  ASSERT_TRUE(reader.heap->find(1, got));
  EXPECT_EQ(std::memcmp(got.address, block.address, block.size_bytes), 0);
}

// Alone, in a record, in a record with strings, in a union, and in a run that is taken in parts.
TEST_F(UpdateTest, APointerForWhichNoStubIsLeftStopsTheUpdate) {
  for (const int kind : {0, 1, 2, 3, 4}) {
    SCOPED_TRACE(kind);
    Copy far(registry, "localhost/far");
    far.begin();
    auto* const target = reinterpret_cast<node_t*>(far.allocate(type(IW_node_t)).address);
    Copy here(registry);
    here.begin();
    const types::Type& of = type(kind == 3 ? IW_shape : kind == 2 ? IW_everything : IW_node_t);
    const std::uint64_t count = kind == 4 ? 400000 : 4;
    const memory::Block block = here.allocate(of, count);
    if (kind == 4) {
      auto* const nodes = reinterpret_cast<node_t*>(block.address);
      for (std::size_t i = 0; i < count; ++i) {
        nodes[i] = {-1, i == 0 ? target : nodes + i};
      }
    }
    if (kind == 0) reinterpret_cast<node_t*>(block.address)[1].next = target;
    for (int i = 0; i < 4 && kind == 1; ++i) {
      reinterpret_cast<node_t*>(block.address)[i] = {i + 1, target};
    }
    if (kind == 2) reinterpret_cast<everything*>(block.address)[1].first = target;
    if (kind == 3) {
      auto& one = reinterpret_cast<shape*>(block.address)[1];
      one.kind = 7;
      one.u.node = target;
    }
    Copy there(registry);
    Update update;
    CachedCopy copy = there.parts();
    const Bytes bytes = here.release();
    ASSERT_TRUE(Update::read(bytes, copy, there.limits, update).ok());
    swizzle::StubArena none(0);
    EXPECT_EQ(update.apply(copy, there.resolver, none).code, error_code::NO_MEMORY);
  }
}

}  // namespace
}  // namespace iw::diff
