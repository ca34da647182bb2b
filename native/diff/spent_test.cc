// A large diff is applied part by part, and says which of its bytes are not read again.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "diff/copies_fixture.h"
#include "diff/random_values.h"

namespace iw::diff {
namespace {

using namespace types::samples;

constexpr std::size_t mib = std::size_t{1} << 20;

class SpentTest : public DiffTest {
 protected:
  memory::Block allocate_large(const types::Type& of, std::string_view name) {
    return writer.allocate(of, 5 * mib / of.size_bytes + 1, name);
  }

  void fill(const memory::Block& block) {
    RandomValues(random, *writer.heap).store(block, 0, block.count * block.type->units);
  }

  // Destroys the bytes that are spent, as memory does that is given back.
  Result apply_destroying(Bytes diff) {
    Update update;
    CachedCopy copy = reader.parts();
    if (Result read = Update::read(diff, copy, reader.limits, update); !read) return read;
    std::size_t spent_bytes = 0;
    most_kept_bytes = 0;
    const Spent spent = [&](const std::byte* end) {
      const auto offset = static_cast<std::size_t>(end - diff.data());
      ASSERT_LE(spent_bytes, offset);
      ASSERT_LE(offset, diff.size());
      most_kept_bytes = std::max(most_kept_bytes, offset - spent_bytes);
      std::fill(diff.begin() + static_cast<std::ptrdiff_t>(spent_bytes),
                diff.begin() + static_cast<std::ptrdiff_t>(offset), std::byte{0xAA});
      spent_bytes = offset;
    };
    Result applied = update.apply(copy, reader.resolver, swizzle::StubArena::program(), {}, spent);
    EXPECT_EQ(spent_bytes, diff.size()) << "all of a diff that ends with its changes";
    return applied;
  }

  std::mt19937 random{5};
  Copy writer{registry};
  Copy reader{registry};
  std::size_t most_kept_bytes = 0;
};

TEST_F(SpentTest, NumbersStringsAndRecordsArriveWhole) {
  RandomTypes types(random);
  writer.begin();
  const memory::Block numbers =
      allocate_large(types::primitive_type(types::Primitive::float64), "numbers");
  fill(numbers);
  fill(allocate_large(type(IW_label), "labels"));
  fill(allocate_large(type(IW_node_t), "nodes"));
  fill(allocate_large(types.record(), "records"));
  fill(writer.allocate(types.record(), 20, "few"));
  const Bytes first = writer.release();
  const Result applied = apply_destroying(first);
  ASSERT_TRUE(applied.ok()) << applied.text;
  EXPECT_LE(most_kept_bytes, 4 * mib * 16 / sizeof(void*))
      << "part by part; a pointer travels as 16";
  expect_equal(writer, reader);

  writer.begin(100);
  fill(numbers);
  ASSERT_TRUE(apply_destroying(writer.release()).ok());
  expect_equal(writer, reader);
  ASSERT_TRUE(apply_destroying(complete_diff(writer)).ok()) << "a complete copy in its place";
  expect_equal(writer, reader);
}

// Of numbers as many bytes travel as they take in memory.
TEST_F(SpentTest, NoMoreThanAPartOfALongRunIsKeptNorMuchLess) {
  for (const types::Primitive primitive :
       {types::Primitive::character, types::Primitive::float64}) {
    SCOPED_TRACE(static_cast<int>(primitive));
    const types::Type& of = types::primitive_type(primitive);
    writer.begin(static_cast<std::uint64_t>(primitive) * 100);
    const memory::Block block = writer.allocate(of, 20 * mib / of.size_bytes);
    ASSERT_TRUE(reader.apply(writer.release()).ok());
    writer.begin(static_cast<std::uint64_t>(primitive) * 100 + 50);
    std::memset(block.address + 9 * mib, 'x', 9 * mib);
    block.address[block.size_bytes - 1] = std::byte{'y'};  // a run of its own
    const Result applied = apply_destroying(writer.release());
    ASSERT_TRUE(applied.ok()) << applied.text;
    EXPECT_LE(most_kept_bytes, 4 * mib);
    EXPECT_GE(most_kept_bytes, 2 * mib);
    expect_equal(writer, reader);
  }
}

// Parts do not begin where values of a record do.
TEST_F(SpentTest, RunsThatBeginInTheMiddleOfARecordArriveWhole) {
  for (int round = 0; round < 2; ++round) {
    RandomTypes types(random);
    Copy here(registry);
    Copy there(registry);
    here.begin();
    RandomValues values(random, *here.heap);
    const types::Type& record = types.record();
    const memory::Block block = here.allocate(record, 5 * mib / record.size_bytes, "records");
    ASSERT_TRUE(there.apply(here.release()).ok());
    here.begin(100);
    values.store(block, random() % block.type->units, block.count * block.type->units - 1);
    ASSERT_TRUE(there.apply(here.release()).ok());
    expect_equal(here, there);
  }
}

TEST_F(SpentTest, ADiffThatIsMalformedAtItsEndSpendsNothingAndChangesNothing) {
  writer.begin();
  fill(allocate_large(types::primitive_type(types::Primitive::float64), "numbers"));
  Bytes diff = writer.release();
  ASSERT_TRUE(apply_destroying(diff).ok());
  writer.begin(100);
  fill(writer.blocks().front());
  diff = writer.release();
  for (const std::size_t cut : {std::size_t{1}, 3 * mib, diff.size() - 30}) {
    const std::span<const std::byte> part(diff.data(), diff.size() - cut);
    Update update;
    EXPECT_FALSE(Update::read(part, reader.parts(), reader.limits, update).ok());
  }
  diff.push_back(std::byte{0});
  Update update;
  EXPECT_FALSE(Update::read(diff, reader.parts(), reader.limits, update).ok());
  diff.pop_back();
  ASSERT_TRUE(apply_destroying(diff).ok()) << "the copy is as it was";
  expect_equal(writer, reader);
}

}  // namespace
}  // namespace iw::diff
