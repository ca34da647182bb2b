// IW_assign: strings and sequences whose values are blocks owned by the field (WIRE-7), against the
// real server.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "abi/tests/server_process.h"
#include "abi/tests/statistics.h"
#include "interweave.h"

namespace iw::test {
namespace {

// struct test_note { string title<>; int marks<4>; };  struct test_book { test_note notes<>; };
struct Marks {
  unsigned int len;
  int* val;
};
struct Note {
  char* title;
  Marks marks;
};
struct Book {
  unsigned int len;
  Note* val;
};

const IW_type_def title_type = IW_TEXT_DEF("", 0);
const IW_type_def marks_type = IW_SEQUENCE_DEF("", &IW_def_int, 4);
const IW_field_def note_fields[] = {{"title", &title_type, offsetof(Note, title)},
                                    {"marks", &marks_type, offsetof(Note, marks)}};
const IW_type_def note_type =
    IW_RECORD_DEF("test_note", sizeof(Note), alignof(Note), note_fields, 2);
const IW_type_def notes_type = IW_SEQUENCE_DEF("", &note_type, 0);
const IW_field_def book_fields[] = {{"notes", &notes_type, 0}};
const IW_type_def book_type =
    IW_RECORD_DEF("test_book", sizeof(Book), alignof(Book), book_fields, 1);

class OwnedFields : public ::testing::Test {
 protected:
  void SetUp() override {
    const IW_type_t types[] = {&note_type, &book_type};
    ASSERT_EQ(IW_register_types(types, 2), 0) << IW_strerror();
    ASSERT_TRUE(server_.good());
    url_ = server_.url("/owned");
    segment_ = IW_open_segment(url_.c_str());
    ASSERT_NE(segment_, nullptr) << IW_strerror();
  }
  void TearDown() override {
    if (segment_ == nullptr) return;
    EXPECT_EQ(IW_close_segment(segment_), 0) << IW_strerror();
  }

  std::uint64_t blocks() { return stats_of(segment_).blocks; }
  void begin() { ASSERT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror(); }
  void commit() { ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror(); }
  // The copy is dropped and fetched anew.
  template <typename T>
  const T* fetched(const char* name) {
    EXPECT_EQ(IW_close_segment(segment_), 0);
    segment_ = IW_open_segment(url_.c_str());
    EXPECT_NE(segment_, nullptr) << IW_strerror();
    EXPECT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
    return static_cast<T*>(IW_mip_to_ptr((url_ + "#" + name).c_str()));
  }

  Server server_;
  std::string url_;
  IW_handle_t segment_ = nullptr;
};

TEST_F(OwnedFields, ValuesTravelAndAreReplaced) {
  begin();
  auto* const note = static_cast<Note*>(IW_malloc_named(segment_, &note_type, "note"));
  ASSERT_NE(note, nullptr) << IW_strerror();
  const int marks[] = {3, 1, 4};
  ASSERT_EQ(IW_assign(segment_, &note->title, "first", 5), 0) << IW_strerror();
  ASSERT_EQ(IW_assign(segment_, &note->marks, marks, 3), 0) << IW_strerror();
  EXPECT_STREQ(note->title, "first");
  commit();
  EXPECT_EQ(blocks(), 3u);
  begin();
  const std::string longer(10000, 'x');
  ASSERT_EQ(IW_assign(segment_, &note->title, longer.data(), longer.size()), 0) << IW_strerror();
  commit();
  EXPECT_EQ(blocks(), 3u) << "the old value is freed";
  const Note* const again = fetched<Note>("note");
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->title, longer);
  ASSERT_EQ(again->marks.len, 3u);
  EXPECT_EQ(again->marks.val[2], 4);
  EXPECT_EQ(IW_rl_release(segment_), 0);
}

TEST_F(OwnedFields, NothingIsAnEmptyValue) {
  begin();
  auto* const note = static_cast<Note*>(IW_malloc_named(segment_, &note_type, "note"));
  ASSERT_EQ(IW_assign(segment_, &note->title, "text", 4), 0) << IW_strerror();
  ASSERT_EQ(IW_assign(segment_, &note->title, nullptr, 0), 0) << IW_strerror();
  EXPECT_EQ(note->title, nullptr);
  commit();
  EXPECT_EQ(blocks(), 1u);
}

TEST_F(OwnedFields, Copy3AnAbortBringsTheOldValueBack) {
  begin();
  auto* const note = static_cast<Note*>(IW_malloc_named(segment_, &note_type, "note"));
  ASSERT_EQ(IW_assign(segment_, &note->title, "old", 3), 0) << IW_strerror();
  commit();
  begin();
  ASSERT_EQ(IW_assign(segment_, &note->title, "newer", 5), 0) << IW_strerror();
  ASSERT_EQ(IW_wl_abort(segment_), 0) << IW_strerror();
  EXPECT_STREQ(note->title, "old");
  EXPECT_EQ(blocks(), 2u);
}

TEST_F(OwnedFields, FreeingTheStructFreesWhatItOwnsAllTheWayDown) {
  begin();
  auto* const book = static_cast<Book*>(IW_malloc_named(segment_, &book_type, "book"));
  ASSERT_NE(book, nullptr) << IW_strerror();
  ASSERT_EQ(IW_assign(segment_, book, nullptr, 3), 0) << IW_strerror();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(IW_assign(segment_, &book->val[i].title, "note", 4), 0) << IW_strerror();
    ASSERT_EQ(IW_assign(segment_, &book->val[i].marks, &i, 1), 0) << IW_strerror();
  }
  commit();
  EXPECT_EQ(blocks(), 8u);
  const Book* const again = fetched<Book>("book");
  ASSERT_NE(again, nullptr);
  ASSERT_EQ(again->len, 3u);
  EXPECT_STREQ(again->val[2].title, "note");
  EXPECT_EQ(again->val[2].marks.val[0], 2);
  ASSERT_EQ(IW_rl_release(segment_), 0);
  begin();
  ASSERT_EQ(IW_free(segment_, const_cast<Book*>(again)), 0) << IW_strerror();
  commit();
  EXPECT_EQ(blocks(), 0u);
}

TEST_F(OwnedFields, WrongAssignmentsSayWhy) {
  begin();
  auto* const note = static_cast<Note*>(IW_malloc_named(segment_, &note_type, "note"));
  auto* const book = static_cast<Book*>(IW_malloc_named(segment_, &book_type, "book"));
  const int marks[5] = {};
  EXPECT_EQ(IW_assign(segment_, &note->marks, marks, 5), IW_ETOO_LARGE);
  EXPECT_EQ(IW_assign(segment_, &note->title, "a\0b", 3), IW_EBAD_VALUE);
  EXPECT_EQ(IW_assign(segment_, &note->marks.val, marks, 1), IW_EBAD_POINTER);
  Note local{};
  EXPECT_EQ(IW_assign(segment_, &local.marks, marks, 1), IW_EBAD_POINTER);
  EXPECT_EQ(IW_assign(segment_, book, note, 1), IW_EBAD_ARGUMENT);
  ASSERT_EQ(IW_assign(segment_, &note->marks, marks, 2), 0) << IW_strerror();
  EXPECT_EQ(IW_free(segment_, note->marks.val), IW_EBAD_ARGUMENT);
  ASSERT_EQ(IW_wl_abort(segment_), 0);
  EXPECT_EQ(IW_assign(segment_, &note->title, "x", 1), IW_ENO_LOCK);
}

}  // namespace
}  // namespace iw::test
