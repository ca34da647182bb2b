// The runs against a naive loop, over every vector variant's borders, and the ranges' coalescing.
#include "runs/runs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace iw::runs {
namespace {

using RunList = std::vector<Run>;  // inside a test, Run is something of GoogleTest

struct Buffers {
  std::vector<std::uint32_t> view_words;
  std::vector<std::uint32_t> pristine_words;

  explicit Buffers(std::size_t words) : view_words(words), pristine_words(words) {
    for (std::size_t i = 0; i < words; ++i) {
      pristine_words[i] = static_cast<std::uint32_t>(i * 2654435761u);
    }
    view_words = pristine_words;
  }
  void change(std::size_t word) { view_words[word] ^= 0x80000000u >> (word % 32); }
  [[nodiscard]] const std::byte* view() const {
    return reinterpret_cast<const std::byte*>(view_words.data());
  }
  [[nodiscard]] const std::byte* pristine() const {
    return reinterpret_cast<const std::byte*>(pristine_words.data());
  }
};

// One joined range at a time, word by word, looking back over the gap: the definition.
void naive_range(const Buffers& b, ByteRange range, Splicing splicing, RunList& out) {
  const std::size_t max_gap_bytes = splicing == Splicing::on ? 8 : 0;
  bool has_run = false;
  for (std::size_t at = range.begin_bytes; at < range.end_bytes; at += 4) {
    const std::size_t part = std::min<std::size_t>(4, range.end_bytes - at);
    if (std::memcmp(b.view() + at, b.pristine() + at, part) == 0) continue;
    const std::size_t gap_bytes =
        has_run ? at - (out.back().offset_bytes + out.back().length_bytes) : 0;
    if (has_run && gap_bytes <= max_gap_bytes) {
      out.back().length_bytes = at + part - out.back().offset_bytes;
      out.back().has_gaps |= gap_bytes != 0;
    } else {
      out.push_back({at, part});
      has_run = true;
    }
  }
}

RunList naive(const Buffers& b, std::vector<ByteRange> ranges, Splicing splicing) {
  coalesce(ranges);
  RunList out;
  for (const ByteRange& range : ranges) naive_range(b, range, splicing, out);
  return out;
}

RunList found(const Buffers& b, std::size_t size_bytes, Splicing splicing) {
  RunList out;
  find_changed_runs(b.view(), b.pristine(), size_bytes, out, splicing);
  return out;
}

TEST(Runs, EqualMemoryHasNone) {
  const Buffers b(5000);
  EXPECT_TRUE(found(b, 20000, Splicing::on).empty());
  EXPECT_TRUE(found(b, 0, Splicing::on).empty());
}

TEST(Runs, EverythingChangedIsOne) {
  Buffers b(5000);
  for (std::size_t i = 0; i < 5000; ++i) b.change(i);
  EXPECT_EQ(found(b, 20000, Splicing::off), (RunList{{0, 20000}}));
}

TEST(Runs, OneChangedWordIsFoundAtEveryPlace) {
  for (std::size_t word = 0; word < 1100; ++word) {
    Buffers b(1100);
    b.change(word);
    ASSERT_EQ(found(b, 4400, Splicing::on), (RunList{{word * 4, 4}})) << word;
  }
}

TEST(Runs, EveryBitOfAWordCounts) {
  for (int bit = 0; bit < 32; ++bit) {
    Buffers b(64);
    b.view_words[17] ^= 1u << bit;
    ASSERT_EQ(found(b, 256, Splicing::on), (RunList{{68, 4}})) << bit;
  }
}

TEST(Runs, GapsOfOneAndTwoWordsAreSplicedAndThreeAreNot) {
  for (std::size_t first = 0; first < 200; ++first) {
    for (std::size_t gap = 1; gap <= 3; ++gap) {
      Buffers b(300);
      b.change(first);
      b.change(first + gap + 1);
      const RunList apart{{first * 4, 4}, {(first + gap + 1) * 4, 4}};
      const RunList joined{{first * 4, (gap + 2) * 4, true}};
      ASSERT_EQ(found(b, 1200, Splicing::on), gap <= 2 ? joined : apart) << first << " " << gap;
      ASSERT_EQ(found(b, 1200, Splicing::off), apart) << first << " " << gap;
    }
  }
}

TEST(Runs, AlternatingWordsAreOneSplicedRunOrManySingleOnes) {
  Buffers b(1024);
  for (std::size_t i = 0; i < 1024; i += 2) b.change(i);
  EXPECT_EQ(found(b, 4096, Splicing::on), (RunList{{0, 4092, true}}));
  EXPECT_EQ(found(b, 4096, Splicing::off).size(), 512u);
}

TEST(Runs, OnlyTheRunWithAGapIsSaidToHaveOne) {
  Buffers b(256);
  for (const std::size_t word : {3, 5, 20, 21, 62, 65, 80, 126, 127, 128, 130, 140}) b.change(word);
  EXPECT_EQ(
      found(b, 1024, Splicing::on),
      (RunList{{12, 12, true}, {80, 8}, {248, 16, true}, {320, 4}, {504, 20, true}, {560, 4}}));
}

// The same fields of each record: every mask of 4 KiB is equal, and few of them are looked at.
TEST(Runs, RecordsOfWhichTheSameFieldsChangedAgreeWithANaiveLoop) {
  for (const std::uint32_t changed : {0x1u, 0x3u, 0x5u, 0x6u, 0x9u, 0xAu, 0xBu, 0xDu, 0xEu, 0xFu}) {
    for (std::size_t first = 0; first < 70; ++first) {
      Buffers b(5000);
      for (std::size_t i = first; i < 4000 + first; ++i) {
        if ((changed >> (i % 4) & 1) != 0) b.change(i);
      }
      for (Splicing splicing : {Splicing::off, Splicing::on}) {
        ASSERT_EQ(found(b, 20000, splicing), naive(b, {{0, 20000}}, splicing)) << changed;
      }
    }
  }
}

TEST(Runs, APartialLastWordEndsWithTheMemory) {
  for (std::size_t size_bytes = 1; size_bytes < 600; ++size_bytes) {
    Buffers b(150);
    const std::size_t word = (size_bytes - 1) / 4;
    auto* bytes = reinterpret_cast<std::byte*>(b.view_words.data());
    bytes[size_bytes - 1] ^= std::byte{1};
    ASSERT_EQ(found(b, size_bytes, Splicing::on), (RunList{{word * 4, size_bytes - word * 4}}));
    ASSERT_TRUE(found(b, size_bytes - 1, Splicing::on).empty()) << "a byte behind the end counted";
  }
}

TEST(Runs, TouchingRangesAreOneAndOthersAreSeparate) {
  Buffers b(4096);
  for (std::size_t word = 1000; word < 1100; ++word) b.change(word);  // across a border at 4096
  RunList out;
  const std::vector<ByteRange> touching{{0, 4096}, {4096, 8192}};
  find_changed_runs(b.view(), b.pristine(), touching, out);
  EXPECT_EQ(out, (RunList{{4000, 400}}));
  out.clear();
  const std::vector<ByteRange> with_hole{{0, 4096}, {4100, 8192}};  // the hole is one word
  find_changed_runs(b.view(), b.pristine(), with_hole, out);
  EXPECT_EQ(out, (RunList{{4000, 96}, {4100, 300}}));
}

TEST(Runs, AgreeWithANaiveLoopOnRandomChangesAndRanges) {
  std::mt19937 random(20240611);
  for (int round = 0; round < 3000; ++round) {
    const std::size_t words = 1 + random() % 3000;
    Buffers b(words);
    const std::uint32_t density = 1 + random() % 40;
    const std::size_t stretch = 1 + random() % 60;
    for (std::size_t i = 0; i < words; ++i) {
      if (random() % density == 0) {
        for (std::size_t end = std::min(words, i + random() % stretch + 1); i < end; ++i)
          b.change(i);
      }
    }
    std::vector<ByteRange> ranges;
    for (std::size_t at = 0; at < words * 4;) {
      const std::size_t end = std::min(words * 4, at + 4 * (1 + random() % 700));
      if (random() % 4 != 0) ranges.push_back({at, end});
      at = end;
    }
    for (Splicing splicing : {Splicing::off, Splicing::on}) {
      RunList out;
      find_changed_runs(b.view(), b.pristine(), ranges, out, splicing);
      ASSERT_EQ(out, naive(b, ranges, splicing)) << "round " << round;
      ASSERT_EQ(found(b, words * 4, splicing), naive(b, {{0, words * 4}}, splicing));
    }
  }
}

TEST(Coalesce, SortsJoinsAndDropsEmptyRanges) {
  std::vector<ByteRange> ranges{{40, 50}, {0, 10},  {10, 20}, {60, 60},
                                {15, 30}, {42, 45}, {70, 65}};
  coalesce(ranges);
  EXPECT_EQ(ranges, (std::vector<ByteRange>{{0, 30}, {40, 50}}));
}

}  // namespace
}  // namespace iw::runs
