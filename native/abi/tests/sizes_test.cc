// Blocks of every size and many of them; strings, unions and values of variable length that grow
// and shrink in them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "abi/tests/server_process.h"
#include "abi/tests/statistics.h"
#include "interweave.h"

namespace iw::test {
namespace {

// union figure switch (int kind) { case 1: int radius; case 2: double side[2]; default: void; };
// struct item { int number; string tag<200>; figure form; item *next; string text<>; int marks<>;
// };
struct Figure {
  int kind;
  union {
    int radius;
    double side[2];
  } u;
};
struct Marks {
  unsigned int len;
  int* val;
};
struct Item {
  int number;
  char tag[201];
  Figure form;
  Item* next;
  char* text;
  Marks marks;
};

const IW_field_def figure_kind[] = {{"kind", &IW_def_int, offsetof(Figure, kind)}};
const std::int32_t one[] = {1};
const std::int32_t two[] = {2};
const IW_type_def side_type =
    IW_ARRAY_DEF("", sizeof(double[2]), alignof(double), &IW_def_double, 2);
const IW_arm_def figure_arms[] = {{"radius", &IW_def_int, offsetof(Figure, u.radius), one, 1},
                                  {"side", &side_type, offsetof(Figure, u.side), two, 1}};
const IW_arm_def figure_otherwise = {"", nullptr, 0, nullptr, 0};
const IW_type_def figure_type = IW_UNION_DEF("test_figure", sizeof(Figure), alignof(Figure),
                                             figure_kind, figure_arms, 2, &figure_otherwise);
extern const IW_type_def item_type;
const IW_type_def item_pointer = IW_POINTER_DEF("", &item_type);
const IW_type_def tag_type = IW_STRING_DEF("", 200);
const IW_type_def text_type = IW_TEXT_DEF("", 0);
const IW_type_def item_marks_type = IW_SEQUENCE_DEF("", &IW_def_int, 0);
const IW_field_def item_fields[] = {{"number", &IW_def_int, offsetof(Item, number)},
                                    {"tag", &tag_type, offsetof(Item, tag)},
                                    {"form", &figure_type, offsetof(Item, form)},
                                    {"next", &item_pointer, offsetof(Item, next)},
                                    {"text", &text_type, offsetof(Item, text)},
                                    {"marks", &item_marks_type, offsetof(Item, marks)}};
const IW_type_def item_type =
    IW_RECORD_DEF("test_item", sizeof(Item), alignof(Item), item_fields, 6);

class Sizes : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const IW_type_t types[] = {&item_type, &figure_type};
    ASSERT_EQ(IW_register_types(types, 2), 0) << IW_strerror();
  }
  void SetUp() override {
    ASSERT_TRUE(server_.good());
    url_ = server_.url("/sizes");
    open();
  }
  void TearDown() override {
    if (segment_ == nullptr) return;
    EXPECT_EQ(IW_close_segment(segment_), 0) << IW_strerror();
  }

  void open() {
    IW_open_options options{};
    options.size = sizeof options;
    options.flags = IW_CREATE;
    options.durability = IW_MEMORY;
    options.quota = std::uint64_t{8} << 30;
    segment_ = IW_open_segment_with(url_.c_str(), &options);
    ASSERT_NE(segment_, nullptr) << IW_strerror();
  }
  void begin() { ASSERT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror(); }
  void commit() { ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror(); }
  // The copy is dropped and fetched anew; read-locked.
  void fetch() {
    ASSERT_EQ(IW_close_segment(segment_), 0);
    open();
    ASSERT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
  }
  void done() { ASSERT_EQ(IW_rl_release(segment_), 0); }
  template <typename T>
  T* find(const std::string& name) {
    auto* const block = static_cast<T*>(IW_mip_to_ptr((url_ + "#" + name).c_str()));
    EXPECT_NE(block, nullptr) << name << ": " << IW_strerror();
    return block;
  }
  IW_stats_t stats() { return stats_of(segment_); }

  Server server_;
  std::string url_;
  IW_handle_t segment_ = nullptr;
};

// 64 MiB, or what IW_LARGEST_BLOCK_MIB says.
std::size_t largest_block_bytes() {
  const char* const given = std::getenv("IW_LARGEST_BLOCK_MIB");
  return (given == nullptr ? 64 : std::strtoul(given, nullptr, 10)) << 20;
}

// Not found out only when it has been filled and is released, nor by tables made for it.
TEST_F(Sizes, ABlockBeyondTheSegmentsQuotaIsRefusedAtOnce) {
  constexpr std::size_t most = (std::size_t{1} << 20) / sizeof(double);
  IW_open_options options{};
  options.size = sizeof options;
  options.flags = IW_CREATE;
  options.quota = most * sizeof(double);
  const IW_handle_t small = IW_open_segment_with(server_.url("/small").c_str(), &options);
  ASSERT_NE(small, nullptr) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(small), 0) << IW_strerror();
  for (const std::size_t count : {most + 1, ~std::size_t{0}}) {
    EXPECT_EQ(IW_malloc_array(small, IW_double, count, nullptr), nullptr);
    EXPECT_EQ(IW_errno(), IW_EQUOTA) << IW_strerror();
  }
  EXPECT_NE(IW_malloc_array(small, IW_double, 10, "fits"), nullptr) << IW_strerror();
  EXPECT_EQ(IW_wl_release(small), 0) << IW_strerror();
  EXPECT_EQ(IW_close_segment(small), 0) << IW_strerror();
}

TEST_F(Sizes, ABlockMayHaveOneByteOrAsManyAsFit) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = 1; size <= largest_block_bytes(); size *= 8) {
    if (size > 1) sizes.push_back(size - 1);
    sizes.push_back(size);
    sizes.push_back(size + 1);
  }
  sizes.push_back(largest_block_bytes() + 7);
  const auto name = [](std::size_t size) { return "of" + std::to_string(size); };
  for (const std::size_t size : sizes) {
    begin();
    auto* const block =
        static_cast<char*>(IW_malloc_array(segment_, IW_char, size, name(size).c_str()));
    ASSERT_NE(block, nullptr) << size << ": " << IW_strerror();
    block[0] = 'a';
    block[size / 2] = 'm';
    block[size - 1] = 'z';
    commit();
  }
  begin();
  for (const std::size_t size : sizes) find<char>(name(size))[size / 3] = 't';
  commit();
  fetch();
  for (const std::size_t size : sizes) {
    const char* const block = find<char>(name(size));
    EXPECT_EQ(block[size / 3], 't') << size;
    if (size > 3) {
      EXPECT_EQ(block[size / 2], 'm') << size;
      EXPECT_EQ(block[size - 1], 'z') << size;
      EXPECT_EQ(block[1 + size / 2], 0) << size;
    }
  }
  done();
}

TEST_F(Sizes, AHundredThousandBlocksAreFoundByNameSerialAndAddress) {
  constexpr int count = 100'000;
  begin();
  for (int i = 0; i < count; ++i) {
    const std::string name = "n" + std::to_string(i);
    auto* const number =
        static_cast<int*>(IW_malloc_named(segment_, IW_int, i % 10 == 0 ? name.c_str() : nullptr));
    ASSERT_NE(number, nullptr) << i << ": " << IW_strerror();
    *number = i;
  }
  commit();
  fetch();
  EXPECT_EQ(stats().blocks, static_cast<std::uint64_t>(count));
  int seen = 0;
  for (void* at = IW_next_block(segment_, nullptr); at != nullptr;
       at = IW_next_block(segment_, at)) {
    ASSERT_EQ(*static_cast<int*>(at), seen++);
  }
  EXPECT_EQ(seen, count);
  for (int i = 0; i < count; i += 990) {
    const int* const number = find<int>("n" + std::to_string(i));
    ASSERT_EQ(*number, i);
    const IW_mip_t mip = IW_ptr_to_mip(number);
    ASSERT_NE(mip, nullptr);
    ASSERT_EQ(IW_mip_to_ptr(mip), number) << mip;
    IW_mip_free(mip);
  }
  done();
  const std::uint64_t before = stats().bytes_sent;
  begin();
  ++*find<int>("n500");
  commit();
  EXPECT_LE(stats().bytes_sent - before, 300u) << "one word";
}

// Unchanged blocks are neither looked at nor sent. `make bench ONLY=blocks` measures the time.
TEST_F(Sizes, AChangedWordAmongAHundredThousandBlocksCostsWhatItDoesAmongAThousand) {
  std::uint64_t received[2] = {};
  std::uint64_t compared[2] = {};
  std::size_t which = 0;
  for (const int count : {1000, 100'000}) {
    const std::string url = server_.url("/of" + std::to_string(count));
    const IW_handle_t segment = IW_open_segment(url.c_str());
    ASSERT_NE(segment, nullptr) << IW_strerror();
    ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
    for (int i = 0; i < count; ++i) {
      ASSERT_NE(IW_malloc_named(segment, IW_int, i == count / 2 ? "word" : nullptr), nullptr);
    }
    ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
    Agent writer;
    ASSERT_EQ(writer.tell("open " + url), "ok");
    // Two versions, so that the server collects and does not forward.
    ASSERT_EQ(writer.tell("add word 0 2"), "ok");
    const IW_stats_t before = stats_of(segment);
    ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
    ++*static_cast<int*>(IW_mip_to_ptr((url + "#word").c_str()));
    ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
    const IW_stats_t after = stats_of(segment);
    EXPECT_EQ(after.diffs_received - before.diffs_received, 1U);
    received[which] = after.diff_bytes_received - before.diff_bytes_received;
    compared[which++] = after.compared_bytes - before.compared_bytes;
    ASSERT_EQ(IW_close_segment(segment), 0);
  }
  EXPECT_LE(received[1], received[0] + 4) << "serials take more bytes";
  const char* const tracker = std::getenv("IW_TRACKER");
  if (tracker != nullptr && std::string(tracker) == "compare") return;  // which looks at all
  EXPECT_EQ(compared[1], compared[0]) << "one page";
}

// 1 byte to 10 kB and back: nothing beside it moves, and nothing beside it is sent.
TEST_F(Sizes, AStringGrowsAndShrinksAndItsNeighboursStay) {
  begin();
  auto* const item = static_cast<Item*>(IW_malloc_array(segment_, &item_type, 3, "items"));
  ASSERT_NE(item, nullptr) << IW_strerror();
  void* const neighbour = IW_malloc_named(segment_, IW_int, "neighbour");
  for (int i = 0; i < 3; ++i) {
    item[i].number = i;
    ASSERT_EQ(IW_assign(segment_, &item[i].text, "same", 4), 0) << IW_strerror();
  }
  const char* const texts[] = {item[0].text, item[2].text};
  commit();
  for (const std::size_t size : {1U, 10U, 100U, 1000U, 10000U, 999U, 99U, 9U, 1U, 0U}) {
    const std::string text(size, static_cast<char>('a' + size % 26));
    const std::uint64_t before = stats().diff_bytes_sent;
    begin();
    ASSERT_EQ(IW_assign(segment_, &item[1].text, text.data(), size), 0) << IW_strerror();
    commit();
    EXPECT_LE(stats().diff_bytes_sent - before, size + size * 3 / 100 + 128) << size;
    EXPECT_EQ(find<Item>("items"), item);
    EXPECT_EQ(find<int>("neighbour"), neighbour);
    EXPECT_EQ(item[0].text, texts[0]);
    EXPECT_EQ(item[2].text, texts[1]);
    if (size > 0) {
      EXPECT_EQ(item[1].text, text);
    }
  }
  EXPECT_EQ(item[1].text, nullptr);
  fetch();
  const Item* const again = find<Item>("items");
  EXPECT_STREQ(again[0].text, "same");
  EXPECT_EQ(again[1].text, nullptr);
  EXPECT_STREQ(again[2].text, "same");
  done();
}

// What an item should be, beside the segment.
struct Expected {
  std::string tag;
  int kind = 0;
  double side = 0;
  std::size_t next = 0;
  bool has_next = false;
  std::string text;
  std::vector<int> marks;
};

class Changes : public Sizes {
 protected:
  static constexpr std::size_t items = 50;

  void change(Item* all, Expected* model) {
    const std::size_t which = random_() % items;
    Item& item = all[which];
    Expected& expected = model[which];
    switch (random_() % 5) {
      case 0:
        expected.tag.assign(random_() % 201, static_cast<char>('a' + random_() % 26));
        std::memset(item.tag, 0, sizeof item.tag);
        std::memcpy(item.tag, expected.tag.data(), expected.tag.size());
        return;
      case 1:
        expected.kind = static_cast<int>(random_() % 4);
        expected.side = static_cast<double>(random_() % 1000);
        item.form.kind = expected.kind;
        if (expected.kind == 1) item.form.u.radius = static_cast<int>(expected.side);
        if (expected.kind == 2) item.form.u.side[1] = expected.side;
        return;
      case 2:
        expected.has_next = random_() % 2 == 0;
        expected.next = random_() % items;
        item.next = expected.has_next ? &all[expected.next] : nullptr;
        return;
      case 3:
        expected.text.assign(random_() % 3 == 0 ? 0 : random_() % 5000, 'x');
        ASSERT_EQ(IW_assign(segment_, &item.text, expected.text.data(), expected.text.size()), 0)
            << IW_strerror();
        return;
      default:
        expected.marks.resize(random_() % 300, static_cast<int>(random_()));
        ASSERT_EQ(IW_assign(segment_, &item.marks, expected.marks.data(), expected.marks.size()), 0)
            << IW_strerror();
    }
  }

  static void check(const Item* all, const Expected* model) {
    for (std::size_t i = 0; i < items; ++i) {
      const Item& item = all[i];
      const Expected& expected = model[i];
      ASSERT_EQ(item.tag, expected.tag);
      ASSERT_EQ(item.form.kind, expected.kind);
      if (expected.kind == 1) {
        ASSERT_EQ(item.form.u.radius, static_cast<int>(expected.side));
      }
      if (expected.kind == 2) {
        ASSERT_EQ(item.form.u.side[1], expected.side);
      }
      ASSERT_EQ(item.next, expected.has_next ? &all[expected.next] : nullptr);
      ASSERT_EQ(item.text == nullptr ? std::string() : std::string(item.text), expected.text);
      ASSERT_EQ(item.marks.len, expected.marks.size());
      for (std::size_t j = 0; j < expected.marks.size(); ++j)
        ASSERT_EQ(item.marks.val[j], expected.marks[j]);
    }
  }

  std::mt19937 random_{7};
};

TEST_F(Changes, ValuesOfEveryKindGrowShrinkAndChangeTheirArm) {
  std::vector<Expected> model(items);
  begin();
  ASSERT_NE(IW_malloc_array(segment_, &item_type, items, "items"), nullptr) << IW_strerror();
  commit();
  for (int round = 0; round < 40; ++round) {
    begin();
    auto* const all = find<Item>("items");
    for (int i = 0; i < 20; ++i) change(all, model.data());
    check(all, model.data());
    commit();
    if (round % 4 != 3) continue;
    fetch();
    check(find<Item>("items"), model.data());
    done();
    if (HasFatalFailure()) return;
  }
  // The changes of an aborted section are undone.
  begin();
  std::vector<Expected> dropped = model;
  auto* const all = find<Item>("items");
  for (int i = 0; i < 50; ++i) change(all, dropped.data());
  ASSERT_EQ(IW_wl_abort(segment_), 0) << IW_strerror();
  check(find<Item>("items"), model.data());
}

}  // namespace
}  // namespace iw::test
