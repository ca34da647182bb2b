// Heaps for tests, over every write tracker of this machine.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "memory/address_map.h"
#include "memory/heap.h"
#include "track/tracker_fixture.h"
#include "types/sample_types.h"
#include "types/type.h"

namespace iw::memory {

#define IW_OK(expression)                                                 \
  do {                                                                    \
    const auto iw_result = (expression);                                  \
    ASSERT_TRUE(iw_result.ok()) << #expression << ": " << iw_result.text; \
  } while (false)

using types::error_code;

inline const types::Type& int_type() { return types::primitive_type(types::Primitive::int32); }
inline const types::Type& char_type() { return types::primitive_type(types::Primitive::character); }
inline const types::Type& double_type() { return types::primitive_type(types::Primitive::float64); }

inline types::Url url_of(const std::string& text) {
  types::Url url;
  EXPECT_TRUE(types::parse_url(text, url).ok());
  return url;
}

inline std::unique_ptr<Heap> new_heap(const std::string& url = "127.0.0.1/heap",
                                      track::Tracker* tracker = nullptr, bool read_only = false) {
  HeapOptions options;
  options.url = url_of(url);
  options.tracker = tracker;
  options.read_only = read_only;
  std::unique_ptr<Heap> heap;
  const Result made = Heap::create(options, heap);
  EXPECT_TRUE(made.ok()) << made.text;
  return heap;
}

inline constexpr SerialRange kManySerials{1, 1'000'000};

inline Result begin_write(Heap& heap, SerialRange serials = kManySerials) {
  return heap.begin_write({&serials, 1});
}

// Collects, finds what changed and commits it, as a release does.
inline Result release(Heap& heap, std::vector<SubsegmentRuns>* sent = nullptr) {
  std::vector<SubsegmentPages> pages;
  std::vector<SubsegmentRuns> runs;
  if (Result bad = heap.collect(pages); !bad) return bad;
  if (Result bad = heap.changed_runs(pages, runs); !bad) return bad;
  if (sent != nullptr) *sent = runs;
  return heap.commit_write(runs);
}

inline Result abort(Heap& heap) { return heap.rollback_write(); }

inline bool is_all_zero(const std::byte* begin, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    if (begin[i] != std::byte{0}) return false;
  }
  return true;
}
inline bool is_all_zero(const Block& block) { return is_all_zero(block.address, block.size_bytes); }

inline std::int32_t& int_at(const Block& block, std::size_t index = 0) {
  return reinterpret_cast<std::int32_t*>(block.address)[index];
}

inline Result write_incoming(Heap& heap, const Block& block, std::size_t offset, const void* bytes,
                             std::size_t size) {
  std::byte* to = heap.begin_apply(block, offset, size);
  if (to == nullptr) return {error_code::INTERNAL, "begin_apply"};
  std::memcpy(to, bytes, size);
  return heap.apply_done();
}

class EachHeap : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    track::Status status;
    tracker_ = track::find_tracker(GetParam(), status);
    if (tracker_ == nullptr) GTEST_SKIP() << GetParam() << " does not work here: " << status.what;
    heap_ = new_heap("127.0.0.1/heap", tracker_);
  }

  [[nodiscard]] Heap& heap() { return *heap_; }
  [[nodiscard]] track::Tracker& tracker() { return *tracker_; }

  // In a writer section of its own.
  Block committed(const types::Type& type, std::uint64_t count, SerialRange serials,
                  std::string_view name = "") {
    Block block;
    EXPECT_TRUE(begin_write(heap(), serials).ok());
    const Result made = heap().allocate(type, count, name, false, block);
    EXPECT_TRUE(made.ok()) << made.text;
    EXPECT_TRUE(release(heap()).ok());
    return block;
  }

 private:
  track::Tracker* tracker_ = nullptr;
  std::unique_ptr<Heap> heap_;
};

#define IW_FOR_EACH_HEAP(fixture)                                                       \
  INSTANTIATE_TEST_SUITE_P(Tracker, fixture, testing::ValuesIn(track::names_to_test()), \
                           [](const testing::TestParamInfo<std::string>& info) {        \
                             std::string name = info.param;                             \
                             for (char& c : name) c = c == '-' ? '_' : c;               \
                             return name;                                               \
                           })

// So many small blocks.
inline std::vector<Block> filled(Heap& heap, std::size_t blocks) {
  std::vector<Block> all(blocks);
  for (std::size_t i = 0; i < blocks; ++i) {
    const Result made = heap.insert(i + 1, int_type(), 1 + i % 40, "", false, all[i]);
    EXPECT_TRUE(made.ok()) << made.text;
  }
  return all;
}

}  // namespace iw::memory
