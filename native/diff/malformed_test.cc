// Diffs that are wrong are refused before anything has changed [DIFF-1].
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <random>

#include "diff/copies_fixture.h"
#include "diff/random_values.h"

namespace iw::diff {
namespace {

using namespace types::samples;
using types::error_code;

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
  refused(diff({3, 1, 8, 6, 8, 8, 6, 0, 1, 1, 0, 0, 0}));                  // freed
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
  const Bytes before = seen();
  for (std::size_t size = 0; size < good.size(); ++size) {
    // A buffer of its own size, so that ASan sees reads beyond it.
    const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    Update update;
    const CachedCopy copy = reader.parts();
    if (Update::read(cut, copy, {}, update).ok()) {
      // Whole sections were left out at the end, which is a diff, too.
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
