// Blocks seen without generated code: types made at run time, and what the segment says of a block.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "abi/tests/server_process.h"
#include "interweave.h"

namespace iw::test {
namespace {

struct sample {
  char tag;
  double value;
  sample* next;
};

// `sample` as a program without a compiler of types writes it: without sizes and offsets.
IW_type_t sample_type() {
  static IW_type_def to_next = IW_POINTER_DEF("", nullptr);
  static IW_field_def fields[] = {
      {"tag", IW_char, 0}, {"value", IW_double, 0}, {"next", &to_next, 0}};
  static IW_type_def made = IW_RECORD_DEF("described_sample", 0, 0, fields, 3);
  static const int registered = [] {
    to_next.size = to_next.align = 0;
    to_next.element = &made;
    const IW_type_t table = &made;
    return IW_register_types(&table, 1);
  }();
  EXPECT_EQ(registered, 0);
  return &made;
}

class Describe : public testing::Test {
 protected:
  void SetUp() override {
    segment_ = IW_open_segment(server_.url("/described").c_str());
    ASSERT_NE(segment_, nullptr) << IW_strerror();
    ASSERT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror();
  }
  void TearDown() override { EXPECT_EQ(IW_close_segment(segment_), 0); }

  IW_block_t describe(const void* place) {
    IW_block_t block{};
    block.size = sizeof block;
    EXPECT_EQ(IW_describe_block(segment_, place, &block), 0) << IW_strerror();
    return block;
  }

  Server server_;
  IW_handle_t segment_ = nullptr;
};

TEST_F(Describe, ABlockOfATypeMadeAtRunTimeIsLaidOutAsTheCompilerDoes) {
  auto* const two = static_cast<sample*>(IW_malloc_array(segment_, sample_type(), 2, "two"));
  ASSERT_NE(two, nullptr) << IW_strerror();
  two[1] = {'x', 2.5, &two[0]};
  const IW_block_t block = describe(&two[1].value);
  EXPECT_EQ(block.address, two);
  EXPECT_EQ(block.count, 2U);
  EXPECT_EQ(block.serial, 1U);
  EXPECT_EQ(block.is_owned, 0);
  EXPECT_STREQ(block.name, "two");
  EXPECT_EQ(block.type->size, sizeof(sample));
  EXPECT_STREQ(block.type->name, "described_sample");
  ASSERT_EQ(block.type->field_count, 3U);
  EXPECT_EQ(block.type->fields[1].offset, offsetof(sample, value));
  EXPECT_EQ(block.type->fields[2].offset, offsetof(sample, next));
  EXPECT_EQ(block.type->fields[2].type->element, block.type);
  ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror();
}

TEST_F(Describe, WhatADescriptionGivesCanBeAllocatedAgain) {
  void* const one = IW_malloc(segment_, sample_type());
  ASSERT_NE(one, nullptr) << IW_strerror();
  const IW_block_t first = describe(one);
  void* const other = IW_malloc_array(segment_, first.type, 3, nullptr);
  ASSERT_NE(other, nullptr) << IW_strerror();
  const IW_block_t second = describe(other);
  EXPECT_EQ(second.type, first.type);
  EXPECT_EQ(second.count, 3U);
  EXPECT_STREQ(second.name, "");
  ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror();
}

TEST_F(Describe, ABlockThatIsOnlySpaceSaysSo) {
  ASSERT_NE(IW_malloc_named(segment_, IW_int, "late"), nullptr) << IW_strerror();
  ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror();
  Agent other;
  ASSERT_EQ(other.tell("open " + server_.url("/described") + " 10"), "ok");
  ASSERT_EQ(other.tell("wl"), "ok");
  ASSERT_EQ(other.tell("make later 1"), "ok");
  ASSERT_EQ(IW_set_coherence(segment_, IW_NULL, 0), 0);
  ASSERT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
  ASSERT_EQ(other.tell("release"), "ok");
  const void* const here = IW_mip_to_ptr((server_.url("/described") + "#late").c_str());
  const void* const space = IW_mip_to_ptr((server_.url("/described") + "#later").c_str());
  ASSERT_NE(space, nullptr) << IW_strerror();
  EXPECT_EQ(describe(here).is_reserved, 0);
  EXPECT_EQ(describe(space).is_reserved, 1);
  EXPECT_EQ(IW_rl_release(segment_), 0);
}

// A block of this size has a stretch of memory of its own, which goes with it.
TEST_F(Describe, PinnedMemoryOutlivesItsBlockAndItsSegment) {
  constexpr std::size_t large = 1 << 20;
  const auto* const kept = static_cast<const char*>(IW_malloc_named(segment_, IW_char, "small"));
  auto* const freed = static_cast<int*>(IW_malloc_array(segment_, IW_int, large, "large"));
  ASSERT_NE(freed, nullptr) << IW_strerror();
  freed[large - 1] = 7;
  const IW_pin_t first = IW_pin(segment_, kept);
  const IW_pin_t second = IW_pin(segment_, freed);
  const IW_pin_t third = IW_pin(segment_, &freed[large - 1]);
  ASSERT_TRUE(first != nullptr && second != nullptr && third != nullptr) << IW_strerror();
  ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror();
  ASSERT_EQ(IW_free(segment_, freed), 0) << IW_strerror();
  ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror();
  IW_unpin(second);
  EXPECT_EQ(freed[large - 1], 7);
  ASSERT_EQ(IW_close_segment(segment_), 0) << IW_strerror();
  EXPECT_EQ(*kept, 0);
  EXPECT_EQ(freed[large - 1], 7);
  IW_unpin(first);
  IW_unpin(third);
  segment_ = IW_open_segment(server_.url("/described").c_str());
  ASSERT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror();
  IW_unpin(nullptr);
}

TEST_F(Describe, AnArrayOfAnyShapeLiesInItsBlockOrNot) {
  auto* const numbers = static_cast<double*>(IW_malloc_array(segment_, IW_double, 24, "numbers"));
  ASSERT_NE(numbers, nullptr) << IW_strerror();
  const auto fits = [](const void* p, std::size_t element_bytes, std::vector<std::int64_t> shape) {
    return IW_check_extents(p, element_bytes, shape.data(), static_cast<int>(shape.size()));
  };
  EXPECT_EQ(fits(numbers, 8, {4, 6}), 0) << IW_strerror();
  EXPECT_EQ(fits(numbers, 4, {48}), 0) << IW_strerror();
  EXPECT_EQ(fits(numbers + 4, 8, {20}), 0) << IW_strerror();
  EXPECT_EQ(fits(numbers, 8, {0, 1000}), 0) << IW_strerror();
  constexpr std::int64_t large = std::int64_t{1} << 40;
  for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{
           {25}, {5, 5}, {-1}, {-4, -6}, {large, large, large}, {-1, 0}}) {
    EXPECT_EQ(fits(numbers, 8, shape), IW_EBAD_ARGUMENT) << shape[0];
  }
  EXPECT_EQ(fits(numbers + 4, 8, {21}), IW_EBAD_ARGUMENT);
  EXPECT_NE(std::string(IW_strerror()).find("160 bytes"), std::string::npos) << IW_strerror();
  EXPECT_EQ(fits(numbers, 0, {1}), IW_EBAD_ARGUMENT);
  EXPECT_EQ(fits(numbers, 8, {}), IW_EBAD_ARGUMENT);
  const double outside = 0;
  EXPECT_EQ(fits(&outside, 8, {1}), IW_EBAD_POINTER);
  EXPECT_EQ(fits(nullptr, 8, {1}), IW_EBAD_POINTER);
  ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror();
}

// A program of a newer header has more members, which this library does not know.
TEST_F(Describe, ALargerDescriptionIsFilledAsFarAsItIsKnown) {
  void* const made = IW_malloc_named(segment_, IW_int, "small");
  ASSERT_NE(made, nullptr) << IW_strerror();
  struct Newer {
    IW_block_t known;
    char added[64];
  } newer;
  std::memset(&newer, 0x5A, sizeof newer);
  newer.known.size = sizeof newer;
  ASSERT_EQ(IW_describe_block(segment_, made, &newer.known), 0) << IW_strerror();
  EXPECT_EQ(newer.known.size, sizeof newer.known);
  EXPECT_EQ(newer.known.address, made);
  EXPECT_STREQ(newer.known.name, "small");
  for (const char untouched : newer.added) EXPECT_EQ(untouched, 0x5A);
  ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror();
}

TEST_F(Describe, WrongQuestionsSayWhy) {
  int outside = 0;
  IW_block_t block{};
  EXPECT_EQ(IW_describe_block(segment_, &outside, &block), IW_EBAD_ARGUMENT) << "no size";
  block.size = sizeof block;
  EXPECT_EQ(IW_describe_block(segment_, &outside, &block), IW_EBAD_POINTER);
  ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror();
  EXPECT_EQ(IW_describe_block(segment_, &outside, &block), IW_ENO_LOCK);
  EXPECT_EQ(IW_pin(segment_, &outside), nullptr);
  EXPECT_EQ(IW_errno(), IW_ENO_LOCK);
  const IW_type_def unknown = IW_TEXT_DEF("nobody registered this", 0);
  EXPECT_EQ(IW_laid_out(&unknown), nullptr);
  EXPECT_EQ(IW_errno(), IW_EUNKNOWN_TYPE);
}

}  // namespace
}  // namespace iw::test
