// Random types, values and edits: a reader that applies every diff, one that applies complete
// copies, and the writer's copy are always the same; an abort leaves no trace.
#include <gtest/gtest.h>

#include <random>

#include "diff/copies_fixture.h"
#include "diff/random_values.h"

namespace iw::diff {
namespace {

struct Edits {
  std::mt19937& random;
  Copy& writer;
  RandomTypes& types;
  std::uint64_t next_serial = 1;

  void section() {
    writer.begin(next_serial);
    next_serial += 64;
    RandomValues values(random, *writer.heap);
    const std::size_t steps = 1 + random() % 6;
    for (std::size_t i = 0; i < steps; ++i) {
      const auto blocks = writer.blocks();
      if (blocks.size() < 3 || random() % 5 == 0) {
        std::string name;
        if (random() % 3 == 0) name.append("n").append(std::to_string(next_serial + i));
        const memory::Block block = writer.allocate(types.record(), 1 + random() % 20, name);
        if (random() % 2 == 0) values.store(block, 0, block.count * block.type->units);
        continue;
      }
      const memory::Block block = blocks[random() % blocks.size()];
      if (random() % 12 == 0) {
        forget(block);
        ASSERT_TRUE(writer.heap->free(block.serial).ok());
        continue;
      }
      const std::uint64_t units = block.count * block.type->units;
      const std::uint64_t first = random() % units;
      values.store(block, first, first + 1 + random() % std::min<std::uint64_t>(units - first, 30));
    }
  }

  // Nothing may point at a block that is freed: pointers of all blocks are stored anew until none
  // does. (What a dangling pointer becomes is swizzling's matter.)
  void forget(const memory::Block& gone) {
    for (const memory::Block& block : writer.blocks()) {
      for (std::uint64_t unit = 0; unit < block.count * block.type->units; ++unit)
        clear(block, unit, gone);
    }
  }
  void clear(const memory::Block& block, std::uint64_t unit, const memory::Block& gone) {
    types::for_each_row(types::array_step(*block.type, block.count), unit, unit + 1,
                        [&](const types::UnitRow& row) {
                          std::byte* const at = block.address + row.offset_bytes;
                          if (row.kind == types::UnitKind::choice) {
                            std::memset(at, 0, row.type->size_bytes);
                          } else if (row.kind == types::UnitKind::pointer) {
                            std::byte* to = nullptr;
                            std::memcpy(&to, at, sizeof to);
                            if (to != nullptr && gone.covers(to)) std::memset(at, 0, sizeof(void*));
                          }
                          return true;
                        });
  }
};

class RandomEditsTest : public testing::TestWithParam<unsigned> {};

TEST_P(RandomEditsTest, EveryCopyIsTheSame) {
  std::mt19937 random(GetParam());
  types::Registry nothing;
  RandomTypes types(random);
  Copy writer(nothing);
  Copy follower(nothing);
  Copy late(nothing);
  Edits edits{random, writer, types};
  for (int version = 0; version < 25; ++version) {
    edits.section();
    if (random() % 6 == 0) {
      writer.abort();
      expect_equal(writer, follower);
      continue;
    }
    const auto splicing = random() % 2 == 0 ? runs::Splicing::on : runs::Splicing::off;
    const Bytes diff = writer.release(splicing, random() % 2 == 0);
    Result result = follower.apply(diff);
    ASSERT_TRUE(result.ok()) << result.text;
    expect_equal(writer, follower);
    EXPECT_EQ(follower.version, writer.version);
    if (version % 5 == 4) {
      result = late.apply(complete_diff(writer));
      ASSERT_TRUE(result.ok()) << result.text;
      expect_equal(writer, late);
    }
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomEditsTest, testing::Range(1U, 41U));

}  // namespace
}  // namespace iw::diff
